/* Runs the digits classifier that deploy.py has exported: reads images from standard input, and writes the probabilities of the ten
   digits for each to standard output.

   cc deploy.c retrograde_runtime.c -lm -o deploy, with the folders of digits.h and retrograde_runtime.h after -I. */
#include <stdio.h>

#include "digits.h"

int main(int count, char **arguments)
{
    static float images[DIGITS_PREDICT_IMAGES_COUNT], probabilities[DIGITS_PREDICT_RESULT_COUNT];
    char message[256];
    retrograde_program *program;
    int result = 0;

    if (count != 2) {
        fprintf(stderr, "usage: deploy digits.rgx < images > probabilities\n");
        return 2;
    }
    program = digits_open(arguments[1], message, sizeof message);
    if (program == NULL) {
        fprintf(stderr, "%s\n", message);
        return 1;
    }
    while (result == 0 && fread(images, sizeof images, 1, stdin) == 1) {
        result = digits_predict(program, images, probabilities);
        if (result != 0)
            fprintf(stderr, "%s\n", retrograde_error(result));
        else
            fwrite(probabilities, sizeof probabilities, 1, stdout);
    }
    retrograde_close(program);
    return result != 0;
}
