/* Loads a program that retrograde has exported, checks it, and runs it on the thread that calls. For Linux, C99 or C++.

   Build it with the program that uses it: cc main.c retrograde_runtime.c -lm. The header that is written beside an exported program
   has functions of C with its names and types; what stands here is for all programs. */
#ifndef RETROGRADE_RUNTIME_H
#define RETROGRADE_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct retrograde_program retrograde_program;

/* What calls return. */
enum {
    RETROGRADE_OK = 0,
    RETROGRADE_OUT_OF_RANGE = 1,  /* an index was negative or too great */
    RETROGRADE_WRONG_ARGUMENT = 2, /* no such function, or arrays that are null, not aligned, or overlap */
    RETROGRADE_NOT_DEFINITE = 3,  /* a matrix is not positive definite */
    RETROGRADE_SINGULAR = 5       /* a matrix is singular */
};

/* An input or an output. Numbers of float16 and bfloat16 are handed over as their 16 bits, complex ones as two numbers. */
typedef struct {
    const char *name, *dtype;
    int64_t rank;
    const int64_t *shape;
    size_t bytes;
} retrograde_value;

/* The program in a file; null if it cannot be loaded, and then there is a message in words in `message`, which has room for
   `message_size` bytes. The file must have the `digest` of 32 bytes, if that is not null.

   Machine code runs only when all of the file has been checked. Whoever made the file is trusted, as with any library. */
retrograde_program *retrograde_open(const char *path, const unsigned char *digest, char *message, size_t message_size);

/* Runs function number `function`, from 0, on its inputs, and writes its outputs. Where it does not return RETROGRADE_OK no state
   has changed, and what is in the outputs means nothing. One call at a time for each program; open the file again for more. */
int retrograde_run(retrograde_program *program, int function, const void *const *inputs, void *const *outputs);

/* A result of `retrograde_run` in words. */
const char *retrograde_error(int result);

/* Lets the state of a program, such as that of a random generator, be what it was when the file was written. */
void retrograde_reset(retrograde_program *program);

/* Ends a program; null is none. */
void retrograde_close(retrograde_program *program);

/* The number of the function called `name`, or -1; how many inputs and outputs one has; and what they are, which is 0 where there
   is such a one. */
int retrograde_function(const retrograde_program *program, const char *name);
int retrograde_input_count(const retrograde_program *program, int function);
int retrograde_output_count(const retrograde_program *program, int function);
int retrograde_input(const retrograde_program *program, int function, int number, retrograde_value *value);
int retrograde_output(const retrograde_program *program, int function, int number, retrograde_value *value);

#ifdef __cplusplus
}
#endif
#endif
