// Sparse rows times dense matrices, for the first layer of a network.
//
// A batch is kept by column (CSC): column d is the entries starts[d] .. starts[d + 1] of row[] and
// value[]. Both products work on one slab of at most SLAB units (constants.py) at a time, with the
// batch's side of the slab laid out as a tile (rows x slab) that stays in the second-level cache:
// entries touch it at random, while weights and their gradient are read or written once, in order.
// A slab is the work of one thread, and every element is summed in the order of its column, so
// results do not depend on who does which slab.

#include <stdint.h>
#include <string.h>

#define LANES 16
#define AHEAD 6  // entries looked ahead, enough to hide the way to the second-level cache

typedef float lanes __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

#define INLINE static inline __attribute__((always_inline))

// Where the units first, first + 1, .. of a slab end, and how wide its tile is.
static int64_t width_of(int64_t units, int64_t first) {
    return units - first < SLAB ? units - first : SLAB;
}

static int slab_of(int64_t width) { return width <= 16 ? 16 : width <= 32 ? 32 : SLAB; }

// Copy between units (slab x rows, in place) and a tile (rows x slab), few rows at a time.
#define TRANSPOSED(statement)                                          \
    for (int64_t from = 0; from < rows; from += LANES) {               \
        const int64_t to = from + LANES < rows ? from + LANES : rows;  \
        for (int64_t h = 0; h < width; h++)                            \
            for (int64_t b = from; b < to; b++) statement;             \
    }

INLINE void forward_tile(const int32_t *starts, const int32_t *row, const float *value,
                         int64_t columns, const float *weight, int64_t stride, int64_t width,
                         float *tile, const int slab) {
    const int64_t last = starts[columns] - 1;
    for (int64_t d = 0; d < columns; d++, weight += stride) {
        lanes w[SLAB / LANES] = {{0}};
        memcpy(w, weight, 4 * width);
        if (d + 4 < columns)
            for (int k = 0; k < slab; k += LANES) __builtin_prefetch(weight + 4 * stride + k);
        for (int64_t j = starts[d]; j < starts[d + 1]; j++) {
            const float *soon = tile + (int64_t)row[j + AHEAD < last ? j + AHEAD : last] * slab;
            lanes *to = (lanes *)(tile + (int64_t)row[j] * slab);
            for (int k = 0; k < slab; k += LANES) __builtin_prefetch(soon + k, 1);
            const float x = value[j];  // read once: a store might change it, for all C knows
            for (int k = 0; k < slab / LANES; k++) to[k] += x * w[k];
        }
    }
}

INLINE void backward_tile(const int32_t *starts, const int32_t *row, const float *value,
                          int64_t columns, float *gradient, int64_t stride, int64_t width,
                          const float *tile, const int slab) {
    for (int64_t d = 0; d < columns; d++, gradient += stride) {
        lanes sum[SLAB / LANES] = {{0}};
        if (d + 4 < columns)
            for (int k = 0; k < slab; k += LANES) __builtin_prefetch(gradient + 4 * stride + k, 1);
        for (int64_t j = starts[d]; j < starts[d + 1]; j++) {
            const lanes *from = (const lanes *)(tile + (int64_t)row[j] * slab);
            for (int k = 0; k < slab / LANES; k++) sum[k] += value[j] * from[k];
        }
        memcpy(gradient, sum, 4 * width);
    }
}

// A loop compiled for each width it may have, so that its sums stay in registers.
#define BY_SLAB(loop, ...)                                                            \
    switch (slab) {                                                                   \
    case 16: loop(__VA_ARGS__, 16); break;                                            \
    case 32: loop(__VA_ARGS__, 32); break;                                            \
    default: loop(__VA_ARGS__, SLAB);                                                 \
    }

// out (units x rows) += (x times weight)^T for at most SLAB units from the first; weight is
// (columns x units), tile is room for rows x SLAB floats
void sparse_forward(const int32_t *starts, const int32_t *row, const float *value, int64_t rows,
                    int64_t columns, const float *weight, int64_t units, int64_t first, float *out,
                    float *tile) {
    const int64_t width = width_of(units, first);
    const int slab = slab_of(width);
    memset(tile, 0, 4 * rows * slab);
    if (width == SLAB)  // a width known when compiled makes the copy of weights four loads
        forward_tile(starts, row, value, columns, weight + first, units, SLAB, tile, SLAB);
    else
        BY_SLAB(forward_tile, starts, row, value, columns, weight + first, units, width, tile)
    TRANSPOSED(out[(first + h) * rows + b] += tile[b * slab + h])
}

// gradient (columns x units) = x^T g^T for the same units; g is (units x rows)
void sparse_backward(const int32_t *starts, const int32_t *row, const float *value, int64_t rows,
                     int64_t columns, const float *g, int64_t units, int64_t first,
                     float *gradient, float *tile) {
    const int64_t width = width_of(units, first);
    const int slab = slab_of(width);
    if (width < slab) memset(tile, 0, 4 * rows * slab);
    TRANSPOSED(tile[b * slab + h] = g[(first + h) * rows + b])
    BY_SLAB(backward_tile, starts, row, value, columns, gradient + first, units, width, tile)
}

// Chosen rows of a CSR matrix, by column: starts has columns + 1 numbers, row and value one for
// every entry of a chosen row. Rows keep their order within a column.
void sparse_columns(const int32_t *row_starts, const int32_t *column, const float *entry,
                    const int64_t *chosen, int64_t rows, int64_t columns, int32_t *starts,
                    int32_t *row, float *value) {
    memset(starts, 0, 4 * (columns + 1));
    for (int64_t b = 0; b < rows; b++)
        for (int32_t j = row_starts[chosen[b]]; j < row_starts[chosen[b] + 1]; j++)
            starts[column[j] + 1]++;
    for (int64_t d = 0; d < columns; d++) starts[d + 1] += starts[d];
    for (int64_t b = 0; b < rows; b++)
        for (int32_t j = row_starts[chosen[b]]; j < row_starts[chosen[b] + 1]; j++) {
            const int32_t at = starts[column[j]]++;
            row[at] = (int32_t)b;
            value[at] = entry[j];
        }
    // every start has moved on to the next column's: move them back
    memmove(starts + 1, starts, 4 * columns);
    starts[0] = 0;
}
