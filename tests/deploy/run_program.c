#include <stdio.h>
#include <stdlib.h>
#include "retrograde_runtime.h"

/* usage: driver program.rgx times < inputs > outputs; the inputs of all functions, one after the other, then their outputs. */
static void **read_or_make(retrograde_program *program, int function, int count, int is_input)
{
    void **arrays = calloc(count + 1, sizeof *arrays);
    for (int i = 0; i < count; i++) {
        retrograde_value value;
        (is_input ? retrograde_input : retrograde_output)(program, function, i, &value);
        arrays[i] = aligned_alloc(64, (value.bytes + 64) / 64 * 64);
        if (is_input && fread(arrays[i], 1, value.bytes, stdin) != value.bytes)
            exit(3);
    }
    return arrays;
}

int main(int count, char **arguments)
{
    char message[300];
    retrograde_program *program;
    if (count != 3)
        return 2;
    program = retrograde_open(arguments[1], NULL, message, sizeof message);
    if (program == NULL)
        return fprintf(stderr, "%s\n", message), 1;
    for (int function = 0; retrograde_input_count(program, function) >= 0; function++) {
        int inputs = retrograde_input_count(program, function), outputs = retrograde_output_count(program, function);
        void **given = read_or_make(program, function, inputs, 1), **made = read_or_make(program, function, outputs, 0);
        for (int call = 0; call < atoi(arguments[2]); call++) {
            int result = retrograde_run(program, function, (const void *const *)given, made);
            if (result != 0)
                return fprintf(stderr, "%d: %s\n", function, retrograde_error(result)), 1;
            for (int i = 0; i < outputs; i++) {
                retrograde_value value;
                retrograde_output(program, function, i, &value);
                fwrite(made[i], 1, value.bytes, stdout);
            }
        }
    }
    retrograde_close(program);
    return 0;
}
