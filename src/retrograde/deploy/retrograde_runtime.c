/* The loader of exported programs in C. The format of the file is described in retrograde/runtime.py, which does the same in Python.

   A file is a head, sections and a SHA-256 of all before it, in words of 64 bits with the lowest byte first. */
#define _GNU_SOURCE
#include "retrograde_runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#if !defined(__linux__) || !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "exported programs are for Linux on x86-64 and AArch64"
#endif
#if defined(__x86_64__)
#define MACHINE 62
#elif defined(__aarch64__)
#define MACHINE 183
#else
#error "exported programs are for Linux on x86-64 and AArch64"
#endif

#define VERSION 1
#define DIGEST 32
#define LINE 64 /* buffers begin at a multiple of so many bytes */
#define MOST_AXES 64

enum { TEXT, CODE, DATA, NUMBERS, OUTSIDE, REQUIREMENTS, TENSORS, VALUES, FUNCTIONS, SECTIONS };
static const int64_t item_bytes[SECTIONS] = {1, 1, 1, 8, 16, 48, 32, 40, 144};
#define HEAD (8 * (5 + 2 * SECTIONS))

/* What slots and copies lie in; each is followed by a number and an offset in bytes. */
enum { POOL, FLAG, INPUT, OUTPUT, ARENA, TENSOR };
enum { SLOT = 3, COPY = 7 };
enum { CPUID, STATE, HWCAP };

static const struct {
    const char *name;
    int64_t bytes;
} dtypes[] = {{"bool", 1}, {"int8", 1}, {"int16", 2}, {"int32", 4}, {"int64", 8}, {"uint8", 1}, {"uint16", 2}, {"uint32", 4},
              {"uint64", 8}, {"float16", 2}, {"bfloat16", 2}, {"float32", 4}, {"float64", 8}, {"complex64", 8}, {"complex128", 16}};
#define DTYPES ((int64_t)(sizeof dtypes / sizeof *dtypes))

/* The records of the sections. */
struct value { int64_t name, dtype, bytes, rank, shape; };
struct tensor { int64_t at, bytes, is_written, unused; };
struct record {
    int64_t name, words, word_count, places, place_count, calls, call_count, first_step, step_count, slots, slot_count, arena_bytes,
        inputs, input_count, outputs, output_count, copies, copy_count;
};

struct function {
    const struct record *record;
    int64_t *words, *table;
};

typedef void (*run_steps)(int64_t *table, int64_t *steps, int64_t count);

struct retrograde_program {
    unsigned char *file, *code, *arena, **tensors;
    size_t code_bytes;
    const unsigned char *at[SECTIONS];
    int64_t count[SECTIONS], arena_bytes, flag;
    int64_t pool[LINE];
    struct function *functions;
    run_steps run;
    char *message;
    size_t message_size;
};

static int fail(retrograde_program *program, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (program->message != NULL && program->message_size > 0)
        vsnprintf(program->message, program->message_size, format, arguments);
    va_end(arguments);
    return 0;
}

/* SHA-256, FIPS 180-4. */

static uint32_t turned(uint32_t x, int bits) { return x >> bits | x << (32 - bits); }

static void mix(uint32_t *state, const unsigned char *block)
{
    static const uint32_t constants[64] = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01,
        0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc,
        0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
        0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
        0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08,
        0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
        0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
    uint32_t w[64], v[8];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 | (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        uint32_t a = turned(w[i - 15], 7) ^ turned(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t b = turned(w[i - 2], 17) ^ turned(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + a + w[i - 7] + b;
    }
    memcpy(v, state, sizeof v);
    for (int i = 0; i < 64; i++) {
        uint32_t a = turned(v[4], 6) ^ turned(v[4], 11) ^ turned(v[4], 25);
        uint32_t first = v[7] + a + ((v[4] & v[5]) ^ (~v[4] & v[6])) + constants[i] + w[i];
        uint32_t b = turned(v[0], 2) ^ turned(v[0], 13) ^ turned(v[0], 22);
        uint32_t second = b + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += first;
        v[0] = first + second;
    }
    for (int i = 0; i < 8; i++)
        state[i] += v[i];
}

static void digest_of(const unsigned char *content, size_t size, unsigned char *digest)
{
    uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    unsigned char rest[128] = {0};
    size_t whole = size / 64 * 64, left = size - whole, end = left < 56 ? 64 : 128;
    for (size_t i = 0; i < whole; i += 64)
        mix(state, content + i);
    memcpy(rest, content + whole, left);
    rest[left] = 0x80;
    for (int i = 0; i < 8; i++)
        rest[end - 1 - (size_t)i] = (unsigned char)((uint64_t)size * 8 >> 8 * i);
    for (size_t i = 0; i < end; i += 64)
        mix(state, rest + i);
    for (int i = 0; i < DIGEST; i++)
        digest[i] = (unsigned char)(state[i / 4] >> (24 - 8 * (i % 4)));
}

/* Reading. */

static unsigned char *room(int64_t bytes)
{
    void *found = NULL;
    if (bytes < 0 || bytes > INT64_MAX - LINE || posix_memalign(&found, LINE, (size_t)bytes + LINE) != 0)
        return NULL;
    return found;
}

/* Whether `count` items from `first` on lie among `all`. */
static int within(int64_t first, int64_t count, int64_t all)
{
    return first >= 0 && count >= 0 && first <= all && count <= all - first;
}

static const char *text(const retrograde_program *program, int64_t place)
{
    return within(place, 1, program->count[TEXT]) ? (const char *)program->at[TEXT] + place : "?";
}

static const int64_t *numbers(const retrograde_program *program, int64_t first)
{
    return (const int64_t *)(const void *)program->at[NUMBERS] + first;
}

static const struct value *value_at(const retrograde_program *program, int64_t number)
{
    return (const struct value *)(const void *)program->at[VALUES] + number;
}

static const struct tensor *tensor_at(const retrograde_program *program, int64_t number)
{
    return (const struct tensor *)(const void *)program->at[TENSORS] + number;
}

static int64_t read_file(retrograde_program *program, const char *path)
{
    struct stat facts;
    int64_t size = -1, done = 0;
    int handle = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* a FIFO without a writer is opened at once, and then refused */
    if (handle < 0 || fstat(handle, &facts) != 0)
        fail(program, "%s cannot be loaded: %s", path, strerror(errno));
    else if (!S_ISREG(facts.st_mode))
        fail(program, "%s cannot be loaded: it is no ordinary file", path);
    else if ((program->file = room(facts.st_size)) == NULL)
        fail(program, "%s cannot be loaded: there is no memory of %lld bytes", path, (long long)facts.st_size);
    else
        size = facts.st_size;
    while (done < size) {
        ssize_t count = read(handle, program->file + done, (size_t)(size - done));
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0) {
            fail(program, "%s cannot be loaded: %s", path, strerror(errno));
            size = -1;
        }
        if (count <= 0)
            break;
        done += count;
    }
    if (handle >= 0)
        close(handle);
    return size < 0 ? -1 : done;
}

static int check_file(retrograde_program *program, const char *path, const unsigned char *wanted)
{
    unsigned char digest[DIGEST];
    uint32_t facts[2];
    int64_t size = read_file(program, path);
    const int64_t *head = (const int64_t *)(const void *)program->file;
    if (size < 0)
        return 0;
    if (size < HEAD + DIGEST || memcmp(program->file, "\x89RGPROG\n", 8) != 0)
        return fail(program, "%s cannot be loaded: it does not begin as an exported program does", path);
    memcpy(facts, program->file + 8, sizeof facts);
    if (facts[0] != VERSION)
        return fail(program, "%s has version %u of the format, and this loader reads version %d; export the function again, or take "
                    "the loader of the release that wrote it", path, (unsigned)facts[0], VERSION);
    if (head[2] != size)
        return fail(program, "%s cannot be loaded: it says that it has %lld bytes, and has %lld", path, (long long)head[2],
                    (long long)size);
    digest_of(program->file, (size_t)(size - DIGEST), digest);
    if (memcmp(digest, program->file + size - DIGEST, DIGEST) != 0)
        return fail(program, "%s cannot be loaded: its SHA-256 is another one than it says", path);
    if (wanted != NULL && memcmp(digest, wanted, DIGEST) != 0)
        return fail(program, "%s is another file than the one that the header was written with; build with its own header", path);
    if (facts[1] != MACHINE)
        return fail(program, "%s is for machine %u, and this is machine %d, as ELF numbers them; export the function for this machine",
                    path, (unsigned)facts[1], MACHINE);
    for (int i = 0; i < SECTIONS; i++) {
        int64_t first = head[5 + 2 * i], count = head[6 + 2 * i], bytes = size - DIGEST;
        if (first < HEAD || first % 8 != 0 || first > bytes || !within(0, count, (bytes - first) / item_bytes[i]))
            return fail(program, "%s cannot be loaded: its section %d does not lie within it", path, i);
        program->at[i] = program->file + first;
        program->count[i] = count;
    }
    if (program->count[TEXT] == 0 || program->at[TEXT][program->count[TEXT] - 1] != 0)
        return fail(program, "%s cannot be loaded: a name has no end", path);
    if (!within(head[3], 1, program->count[CODE]) || !within(head[4], 1, program->count[TEXT]))
        return fail(program, "%s cannot be loaded: a function lies outside of its section", path);
    return 1;
}

/* The processor. */

#if defined(__x86_64__)
static int has(const int64_t *asked)
{
    unsigned registers[4], leaf = (unsigned)asked[1];
    uint64_t mask = (uint64_t)asked[4];
    if (asked[0] == STATE) {
        unsigned low, high;
        __cpuid(1, registers[0], registers[1], registers[2], registers[3]);
        if ((registers[2] & 1u << 27) == 0)
            return 0;
        __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
        return (((uint64_t)high << 32 | low) & mask) == mask;
    }
    /* A processor answers leaves that it has not with those of another one. */
    if (asked[0] != CPUID || leaf != (uint64_t)asked[1] || !within(asked[3], 1, 4) || leaf > __get_cpuid_max(leaf & 0x80000000u, NULL))
        return 0;
    __cpuid_count(leaf, (unsigned)asked[2], registers[0], registers[1], registers[2], registers[3]);
    return (registers[asked[3]] & mask) == mask;
}
#else
static int has(const int64_t *asked)
{
    return asked[0] == HWCAP && (getauxval((unsigned long)asked[1]) & (unsigned long)asked[4]) == (unsigned long)asked[4];
}
#endif

static int check_processor(retrograde_program *program, const char *path)
{
    const int64_t *asked = (const int64_t *)(const void *)program->at[REQUIREMENTS], *head = (const void *)program->file;
    for (int64_t i = 0; i < program->count[REQUIREMENTS]; i++, asked += 6)
        if (!has(asked))
            return fail(program, "%s is for %s, and this processor lacks %s; export the function for an older target, such as "
                        "x86-64-v2", path, text(program, head[4]), text(program, asked[5]));
    return 1;
}

/* Machine code. */

static void *address_of(const void *function, size_t size)
{
    void *found;
    memcpy(&found, function, size);
    return found;
}

static void *outside(const char *name)
{
    void *(*copy)(void *, const void *, size_t) = memcpy, *(*move)(void *, const void *, size_t) = memmove;
    void *(*set)(void *, int, size_t) = memset;
    double (*add)(double, double, double) = fma;
    float (*add_floats)(float, float, float) = fmaf;
    if (strcmp(name, "memcpy") == 0)
        return address_of(&copy, sizeof copy);
    if (strcmp(name, "memmove") == 0)
        return address_of(&move, sizeof move);
    if (strcmp(name, "memset") == 0)
        return address_of(&set, sizeof set);
    if (strcmp(name, "fma") == 0)
        return address_of(&add, sizeof add);
    return strcmp(name, "fmaf") == 0 ? address_of(&add_floats, sizeof add_floats) : NULL;
}

static int load_code(retrograde_program *program, const char *path)
{
    const int64_t *pairs = (const int64_t *)(const void *)program->at[OUTSIDE], *head = (const void *)program->file;
    size_t bytes = (size_t)program->count[CODE];
    void *block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED)
        return fail(program, "%s cannot be loaded: %s", path, strerror(errno));
    program->code = block;
    program->code_bytes = bytes;
    memcpy(block, program->at[CODE], bytes);
    for (int64_t i = 0; i < program->count[OUTSIDE]; i++, pairs += 2) {
        void *address = outside(text(program, pairs[0]));
        if (address == NULL)
            return fail(program, "machine code of %s calls %s, which this loader does not have", path, text(program, pairs[0]));
        if (!within(pairs[1], 8, program->count[CODE]))
            return fail(program, "%s cannot be loaded: an address lies outside of its section", path);
        memcpy(program->code + pairs[1], &address, 8);
    }
    __builtin___clear_cache((char *)block, (char *)block + bytes);
    if (mprotect(block, bytes, PROT_READ | PROT_EXEC) != 0)
        return fail(program, "the system does not let machine code run: %s", strerror(errno));
    block = program->code + head[3];
    memcpy(&program->run, &block, sizeof program->run);
    return 1;
}

static int load_tensors(retrograde_program *program, const char *path)
{
    program->tensors = calloc((size_t)program->count[TENSORS] + 1, sizeof *program->tensors);
    if (program->tensors == NULL)
        return fail(program, "%s cannot be loaded: there is no memory", path);
    for (int64_t i = 0; i < program->count[TENSORS]; i++) {
        const struct tensor *tensor = tensor_at(program, i);
        if (!within(tensor->at, tensor->bytes, program->count[DATA]))
            return fail(program, "%s cannot be loaded: a tensor lies outside of its section", path);
        program->tensors[i] = tensor->is_written ? room(tensor->bytes) : (unsigned char *)program->at[DATA] + tensor->at;
        if (program->tensors[i] == NULL)
            return fail(program, "%s cannot be loaded: there is no memory", path);
    }
    retrograde_reset(program);
    return 1;
}

void retrograde_reset(retrograde_program *program)
{
    for (int64_t i = 0; i < program->count[TENSORS]; i++) {
        const struct tensor *tensor = tensor_at(program, i);
        if (tensor->is_written)
            memcpy(program->tensors[i], program->at[DATA] + tensor->at, (size_t)tensor->bytes);
    }
}

/* Functions. */

static int64_t bytes_of(const retrograde_program *program, const struct record *record, int64_t kind, int64_t number)
{
    int64_t all = kind == INPUT ? record->input_count : kind == OUTPUT ? record->output_count
        : kind == TENSOR ? program->count[TENSORS] : 1;
    if (!within(number, 1, all))
        return -1;
    switch (kind) {
    case POOL: return sizeof program->pool;
    case FLAG: return 8;
    case INPUT: return value_at(program, record->inputs + number)->bytes;
    case OUTPUT: return value_at(program, record->outputs + number)->bytes;
    case ARENA: return program->arena_bytes;
    case TENSOR: return tensor_at(program, number)->bytes;
    default: return -1;
    }
}

static unsigned char *memory_of(retrograde_program *program, int64_t kind, int64_t number)
{
    switch (kind) {
    case POOL: return (unsigned char *)program->pool;
    case FLAG: return (unsigned char *)&program->flag;
    case ARENA: return program->arena;
    default: return program->tensors[number];
    }
}

static int check_value(const retrograde_program *program, const struct value *value)
{
    int64_t bytes;
    const int64_t *shape;
    if (!within(value->dtype, 1, DTYPES) || !within(value->rank, 0, MOST_AXES) || !within(value->name, 1, program->count[TEXT]) ||
        !within(value->shape, value->rank, program->count[NUMBERS]))
        return 0;
    bytes = dtypes[value->dtype].bytes;
    shape = numbers(program, value->shape);
    for (int64_t i = 0; i < value->rank; i++)
        if (shape[i] < 0 || __builtin_mul_overflow(bytes, shape[i], &bytes))
            return 0;
    return bytes == value->bytes;
}

static int check_record(const retrograde_program *program, const struct record *record)
{
    int64_t all = program->count[NUMBERS];
    if (!within(record->words, record->word_count, all) || !within(record->places, record->place_count, all) ||
        !within(record->call_count, 0, all) || !within(record->calls, 2 * record->call_count, all) ||
        !within(record->slot_count, 0, all) || !within(record->slots, SLOT * record->slot_count, all) ||
        !within(record->copy_count, 0, all) || !within(record->copies, COPY * record->copy_count, all) ||
        !within(record->inputs, record->input_count, program->count[VALUES]) ||
        !within(record->outputs, record->output_count, program->count[VALUES]) || !within(record->name, 1, program->count[TEXT]) ||
        !within(record->step_count, 0, record->word_count) ||
        !within(record->first_step, 4 * record->step_count, record->word_count))
        return 0;
    for (int64_t i = 0; i < record->input_count; i++)
        if (!check_value(program, value_at(program, record->inputs + i)))
            return 0;
    for (int64_t i = 0; i < record->output_count; i++)
        if (!check_value(program, value_at(program, record->outputs + i)))
            return 0;
    return 1;
}

static int load_function(retrograde_program *program, struct function *function)
{
    const struct record *record = function->record;
    const int64_t *places = numbers(program, record->places), *calls = numbers(program, record->calls);
    const int64_t *slots = numbers(program, record->slots), *copies = numbers(program, record->copies);
    const int64_t *source = numbers(program, record->words);
    int64_t count = record->word_count, *words = (int64_t *)(void *)room(8 * count);
    function->words = words;
    function->table = (int64_t *)(void *)room(8 * (record->slot_count + 2));
    if (words == NULL || function->table == NULL)
        return 0;
    memcpy(words, source, (size_t)count * 8);
    for (int64_t i = 0; i < record->place_count; i++) {
        if (!within(places[i], 1, count) || !within(source[places[i]], 1, count))
            return 0;
        words[places[i]] = (int64_t)(intptr_t)(words + source[places[i]]);
    }
    for (int64_t i = 0; i < record->call_count; i++) {
        if (!within(calls[2 * i], 1, count) || !within(calls[2 * i + 1], 1, program->count[CODE]))
            return 0;
        words[calls[2 * i]] = (int64_t)(intptr_t)(program->code + calls[2 * i + 1]);
    }
    for (int64_t i = 0; i < record->slot_count; i++, slots += SLOT) {
        if (!within(slots[2], 0, bytes_of(program, record, slots[0], slots[1])))
            return 0;
        function->table[i] = slots[0] == INPUT || slots[0] == OUTPUT ? 0
            : (int64_t)(intptr_t)(memory_of(program, slots[0], slots[1]) + slots[2]);
    }
    for (int64_t i = 0; i < record->copy_count; i++, copies += COPY)
        if (!within(copies[2], copies[6], bytes_of(program, record, copies[0], copies[1])) ||
            !within(copies[5], copies[6], bytes_of(program, record, copies[3], copies[4])))
            return 0;
    return 1;
}

static int load_functions(retrograde_program *program, const char *path)
{
    const struct record *records = (const struct record *)(const void *)program->at[FUNCTIONS];
    program->functions = calloc((size_t)program->count[FUNCTIONS] + 1, sizeof *program->functions);
    for (int64_t i = 0; i < program->count[FUNCTIONS]; i++)
        if (records[i].arena_bytes > program->arena_bytes)
            program->arena_bytes = records[i].arena_bytes;
    program->arena = room(program->arena_bytes);
    if (program->functions == NULL || program->arena == NULL)
        return fail(program, "%s cannot be loaded: there is no memory of %lld bytes", path, (long long)program->arena_bytes);
    for (int64_t i = 0; i < program->count[FUNCTIONS]; i++) {
        program->functions[i].record = records + i;
        if (!check_record(program, records + i) || !load_function(program, program->functions + i))
            return fail(program, "%s cannot be loaded: function %lld reads what is not in the file, or there is no memory", path,
                        (long long)i);
    }
    return 1;
}

retrograde_program *retrograde_open(const char *path, const unsigned char *digest, char *message, size_t message_size)
{
    retrograde_program *program = calloc(1, sizeof *program), failed = {0};
    if (program == NULL) {
        failed.message = message;
        failed.message_size = message_size;
        fail(&failed, "%s cannot be loaded: there is no memory", path);
        return NULL;
    }
    program->message = message;
    program->message_size = message_size;
    if (check_file(program, path, digest) && check_processor(program, path) && load_code(program, path) &&
        load_tensors(program, path) && load_functions(program, path)) {
        program->message = NULL;
        return program;
    }
    retrograde_close(program);
    return NULL;
}

void retrograde_close(retrograde_program *program)
{
    if (program == NULL)
        return;
    for (int64_t i = 0; program->functions != NULL && i < program->count[FUNCTIONS]; i++) {
        free(program->functions[i].words);
        free(program->functions[i].table);
    }
    for (int64_t i = 0; program->tensors != NULL && i < program->count[TENSORS]; i++)
        if (tensor_at(program, i)->is_written)
            free(program->tensors[i]);
    if (program->code != NULL)
        munmap(program->code, program->code_bytes);
    free(program->functions);
    free(program->tensors);
    free(program->arena);
    free(program->file);
    free(program);
}

/* Running. */

static const struct record *record_of(const retrograde_program *program, int function)
{
    return program != NULL && within(function, 1, program->count[FUNCTIONS]) ? program->functions[function].record : NULL;
}

/* How an array must be aligned: as its elements are, complex ones as their parts. */
static int is_aligned(const struct value *value, const void *array)
{
    int64_t bytes = dtypes[value->dtype].bytes;
    return array != NULL ? (uintptr_t)array % (uintptr_t)(bytes > 8 || value->dtype == 13 ? bytes / 2 : bytes) == 0 : value->bytes == 0;
}

static int overlap(const void *x, int64_t x_bytes, const void *y, int64_t y_bytes)
{
    uintptr_t a = (uintptr_t)x, b = (uintptr_t)y;
    return x_bytes > 0 && y_bytes > 0 && a < b + (uintptr_t)y_bytes && b < a + (uintptr_t)x_bytes;
}

static int fit(const retrograde_program *program, const struct record *record, const void *const *inputs, void *const *outputs)
{
    const struct value *in = value_at(program, record->inputs), *out = value_at(program, record->outputs);
    for (int64_t i = 0; i < record->input_count; i++)
        if (!is_aligned(in + i, inputs[i]))
            return 0;
    for (int64_t i = 0; i < record->output_count; i++) {
        if (!is_aligned(out + i, outputs[i]))
            return 0;
        for (int64_t j = 0; j < record->input_count; j++)
            if (overlap(outputs[i], out[i].bytes, inputs[j], in[j].bytes))
                return 0;
        for (int64_t j = 0; j < i; j++)
            if (overlap(outputs[i], out[i].bytes, outputs[j], out[j].bytes))
                return 0;
    }
    return 1;
}

int retrograde_run(retrograde_program *program, int function, const void *const *inputs, void *const *outputs)
{
    const struct record *record = record_of(program, function);
    struct function *found;
    const int64_t *slots, *copies;
    if (record == NULL || !fit(program, record, inputs, outputs))
        return RETROGRADE_WRONG_ARGUMENT;
    found = program->functions + function;
    slots = numbers(program, record->slots);
    copies = numbers(program, record->copies);
    for (int64_t i = 0; i < record->slot_count; i++, slots += SLOT) {
        if (slots[0] == INPUT)
            found->table[i] = (int64_t)(intptr_t)((const unsigned char *)inputs[slots[1]] + slots[2]);
        else if (slots[0] == OUTPUT)
            found->table[i] = (int64_t)(intptr_t)((unsigned char *)outputs[slots[1]] + slots[2]);
    }
    program->flag = 0;
    if (record->step_count > 0)
        program->run(found->table, found->words + record->first_step, record->step_count);
    if (program->flag != 0)
        return (int)program->flag;
    for (int64_t i = 0; i < record->copy_count; i++, copies += COPY) {
        unsigned char *to = copies[0] == OUTPUT ? outputs[copies[1]] : memory_of(program, copies[0], copies[1]);
        const unsigned char *from = copies[3] == INPUT ? inputs[copies[4]]
            : copies[3] == OUTPUT ? outputs[copies[4]] : memory_of(program, copies[3], copies[4]);
        memmove(to + copies[2], from + copies[5], (size_t)copies[6]);
    }
    return RETROGRADE_OK;
}

const char *retrograde_error(int result)
{
    switch (result) {
    case RETROGRADE_OK: return "no error";
    case RETROGRADE_OUT_OF_RANGE: return "an index was negative or too great";
    case RETROGRADE_WRONG_ARGUMENT: return "there is no such function, or an array is null, not aligned, or overlaps another one";
    case RETROGRADE_NOT_DEFINITE: return "a matrix is not positive definite";
    case RETROGRADE_SINGULAR: return "a matrix is singular";
    default: return "a check failed";
    }
}

int retrograde_function(const retrograde_program *program, const char *name)
{
    for (int64_t i = 0; i < program->count[FUNCTIONS]; i++)
        if (strcmp(text(program, program->functions[i].record->name), name) == 0)
            return (int)i;
    return -1;
}

int retrograde_input_count(const retrograde_program *program, int function)
{
    const struct record *record = record_of(program, function);
    return record == NULL ? -1 : (int)record->input_count;
}

int retrograde_output_count(const retrograde_program *program, int function)
{
    const struct record *record = record_of(program, function);
    return record == NULL ? -1 : (int)record->output_count;
}

static int described(const retrograde_program *program, int64_t number, retrograde_value *value)
{
    const struct value *found = value_at(program, number);
    value->name = text(program, found->name);
    value->dtype = dtypes[found->dtype].name;
    value->rank = found->rank;
    value->shape = numbers(program, found->shape);
    value->bytes = (size_t)found->bytes;
    return RETROGRADE_OK;
}

int retrograde_input(const retrograde_program *program, int function, int number, retrograde_value *value)
{
    const struct record *record = record_of(program, function);
    if (record == NULL || !within(number, 1, record->input_count))
        return RETROGRADE_WRONG_ARGUMENT;
    return described(program, record->inputs + number, value);
}

int retrograde_output(const retrograde_program *program, int function, int number, retrograde_value *value)
{
    const struct record *record = record_of(program, function);
    if (record == NULL || !within(number, 1, record->output_count))
        return RETROGRADE_WRONG_ARGUMENT;
    return described(program, record->outputs + number, value);
}
