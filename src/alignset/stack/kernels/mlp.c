/* Forward and backward pass of a stack of perceptrons, one replica after the other.

   Rows are cut into blocks of ROWS (constants.py). Within a block a layer is feature-major, (units,
   ROWS); a whole layer is (blocks, units, ROWS), so that a block of it stays in the first-level
   cache while the layer above is worked out. The last block may be short; its last vector is then
   padded, with zeros where it is an input or a gradient, so that padding adds nothing to any sum.
   No sum depends on how many replicas there are. */

#include <stdint.h>
#include <string.h>

typedef int64_t Index;

/* The sums of a tile stay in registers: TALL x WIDE vectors of a layer, SIDE x SIDE of a gradient. */
#if defined(__AVX512F__)
enum { LANES = 16, TALL = 6, WIDE = 4, SIDE = 5 };
#define COUNT ((bits){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15})
#elif defined(__AVX__)
enum { LANES = 8, TALL = 6, WIDE = 2, SIDE = 3 };
#define COUNT ((bits){0, 1, 2, 3, 4, 5, 6, 7})
#elif defined(__aarch64__)
enum { LANES = 4, TALL = 6, WIDE = 4, SIDE = 5 };
#define COUNT ((bits){0, 1, 2, 3})
#else
enum { LANES = 4, TALL = 6, WIDE = 2, SIDE = 3 };
#define COUNT ((bits){0, 1, 2, 3})
#endif

typedef float vec __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int bits __attribute__((vector_size(4 * LANES)));
#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 8")

static Index smaller(Index a, Index b) { return a < b ? a : b; }
static Index blocks_of(Index n_rows) { return (n_rows + ROWS - 1) / ROWS; }
static Index rows_in(Index n_rows, Index block) { return smaller(ROWS, n_rows - block * ROWS); }
static Index vecs_in(Index n_rows, Index block) {
    return (rows_in(n_rows, block) + LANES - 1) / LANES;
}

INLINE vec load(const float *at) { return *(const vec *)at; }
INLINE void store(float *at, vec v) { *(vec *)at = v; }
/* v where it is not known to be zero or less: NaN stays NaN, in v and in what decides */
INLINE vec unless(bits off, vec v) { return (vec)((bits)v & ~off); }

/* Keeps a value that is used many times in its register; gcc would load it every time. */
#if defined(__x86_64__)
#define HOLD(v) __asm__("" : "+v"(v))
#elif defined(__aarch64__)
#define HOLD(v) __asm__("" : "+w"(v))
#else
#define HOLD(v)
#endif

/* Lanes with bit s clear: sums a[l] + a[l + s]; with bit s set: b[l - s] + b[l]. */
INLINE vec fold(vec a, vec b, const int s) {
#if defined(__clang__)
    vec x, y;
    UNROLL for (int l = 0; l < LANES; l++) {
        x[l] = l & s ? b[l] : a[l];
        y[l] = l & s ? b[l - s] : a[l + s];
    }
#else
    const bits set = (COUNT & s) != 0;
    const vec x = __builtin_shuffle(a, b, COUNT + (set & LANES));
    const vec y = __builtin_shuffle(a, b, COUNT + s + (set & (LANES - 2 * s)));
#endif
    return x + y;
}

/* Sum of the lanes of each of n vectors, which are overwritten. */
INLINE void totals(vec *v, const int n, float *out) {
    for (int first = 0; first < n; first += LANES) {
        vec *const w = v + first;
        const int m = n - first < LANES ? n - first : LANES;
        UNROLL for (int s = 1; s < LANES; s *= 2)
            UNROLL for (int t = 0; t < m; t += 2 * s)
                w[t] = fold(w[t], t + s < m ? w[t + s] : (vec){0}, s);
        memcpy(out + first, w, m * sizeof(float));
    }
}

/* One layer on one block: out[j] = then(bias[j] + sum_i w[j * per_out + i * per_in] h[i]). */
typedef struct {
    const float *w, *bias, *h;
    Index per_out, per_in, n_out, n_in, n_vecs;
    enum { LINEAR, RELU, MASK } then;
    const float *mask; /* activations; the result is zero where they are */
    float *out;
} Layer;

INLINE void tile(const int tall, const int wide, const Layer *s, Index j, Index v) {
    vec sum[TALL][WIDE];
    UNROLL for (int a = 0; a < tall; a++) UNROLL for (int b = 0; b < wide; b++)
        sum[a][b] = (vec){0} + (s->bias ? s->bias[j + a] : 0.0f);
    const float *w = s->w + j * s->per_out, *h = s->h + v * LANES;
    const Index per_out = s->per_out, per_in = s->per_in;
    for (Index i = s->n_in; i > 0; i--, w += per_in, h += ROWS) {
        vec below[WIDE];
        UNROLL for (int b = 0; b < wide; b++) below[b] = load(h + b * LANES);
        UNROLL for (int a = 0; a < tall; a++) UNROLL for (int b = 0; b < wide; b++)
            sum[a][b] += w[a * per_out] * below[b];
    }
    UNROLL for (int a = 0; a < tall; a++) UNROLL for (int b = 0; b < wide; b++) {
        const Index at = (j + a) * ROWS + (v + b) * LANES;
        vec r = sum[a][b];
        if (s->then == RELU) r = unless(r < 0, r);
        if (s->then == MASK) r = unless(load(s->mask + at) <= 0, r);
        store(s->out + at, r);
    }
}

#define TILES(t)                                            \
    case t:                                                 \
        if (wide == WIDE) tile(t, WIDE, s, j, v);           \
        else for (Index b = 0; b < wide; b++) tile(t, 1, s, j, v + b); \
        break;

static void layer(const Layer *s) {
    for (Index v = 0; v < s->n_vecs; v += WIDE) {
        const Index wide = smaller(WIDE, s->n_vecs - v);
        for (Index j = 0; j < s->n_out; j += TALL)
            switch (smaller(TALL, s->n_out - j)) { TILES(1) TILES(2) TILES(3) TILES(4) TILES(5) TILES(6) }
    }
}

/* Sums over rows of two layers: out[j * n_h + i] = sum_b g[j, b] h[i, b]. */
typedef struct {
    const float *g, *h;
    Index n_g, n_h, n_rows;
    float *out;
} Outer;

INLINE void corner(const int tall, const int wide, const Outer *s, Index j, Index i) {
    vec sum[SIDE * SIDE];
    UNROLL for (int a = 0; a < tall; a++) UNROLL for (int b = 0; b < wide; b++) sum[a * wide + b] = (vec){0};
    const float *g = s->g + j * ROWS, *h = s->h + i * ROWS;
    for (Index block = 0; block < blocks_of(s->n_rows); block++) {
        const Index n_vecs = vecs_in(s->n_rows, block);
        for (Index v = 0; v < n_vecs; v++) {
            vec right[SIDE];
            UNROLL for (int b = 0; b < wide; b++) {
                right[b] = load(h + b * ROWS + v * LANES);
                HOLD(right[b]);
            }
            UNROLL for (int a = 0; a < tall; a++) {
                const vec left = load(g + a * ROWS + v * LANES);
                UNROLL for (int b = 0; b < wide; b++) sum[a * wide + b] += left * right[b];
            }
        }
        g += s->n_g * ROWS, h += s->n_h * ROWS;
    }
    float flat[SIDE * SIDE];
    totals(sum, tall * wide, flat);
    UNROLL for (int a = 0; a < tall; a++)
        memcpy(s->out + (j + a) * s->n_h + i, flat + a * wide, wide * sizeof(float));
}

#define CORNERS(t)                                            \
    case t:                                                   \
        if (t > SIDE) break;                                  \
        if (wide == SIDE) corner(t, SIDE, s, j, i);           \
        else for (Index b = 0; b < wide; b++) corner(t, 1, s, j, i + b); \
        break;

static void outer(const Outer *s) {
    for (Index j = 0; j < s->n_g; j += SIDE)
        for (Index i = 0; i < s->n_h; i += SIDE) {
            const Index wide = smaller(SIDE, s->n_h - i);
            switch (smaller(SIDE, s->n_g - j)) { CORNERS(1) CORNERS(2) CORNERS(3) CORNERS(4) CORNERS(5) }
        }
}

/* out[j] = sum_b g[j, b] */
static void row_sums(const float *g, Index n_g, Index n_rows, float *out) {
    for (Index j = 0; j < n_g; j++) {
        vec sum = {0};
        for (Index block = 0; block < blocks_of(n_rows); block++) {
            const float *at = g + (block * n_g + j) * ROWS;
            for (Index v = 0; v < vecs_in(n_rows, block); v++) sum += load(at + v * LANES);
        }
        totals(&sum, 1, out + j);
    }
}

/* Copy columns src[b * per_row + d * per_col] to units d of a layer of n_units. */
static void pack(const float *src, Index per_row, Index per_col, Index n_rows, Index n_cols,
                 Index n_units, float *out) {
    for (Index block = 0; block < blocks_of(n_rows); block++, out += n_units * ROWS) {
        const Index n = rows_in(n_rows, block);
        const float *from = src + block * ROWS * per_row;
        for (Index d = 0; d < n_cols; d++) {
            float *to = out + d * ROWS;
            for (Index b = 0; b < n; b++) to[b] = from[b * per_row + d * per_col];
            for (Index b = n; b < ROWS; b++) to[b] = 0;
        }
    }
}

/* Shape of a stack: c replicas of each of q problems, depth hidden layers of h units. */
typedef struct {
    Index q, c, n_rows, d, h, k, depth, last_relu;
    Index own_x; /* every replica has its own packed x, not every problem */
} Stack;

/* What one call works on: replicas and row blocks from .. to. */
typedef struct {
    Index replica, replica_to, block, block_to;
} Piece;

/* Copy one block of features to units first, first + 1, ... of x; step: strides of src along
   problems, replicas, rows and columns. */
void pack_inputs(const Stack *s, const float *src, const Index *step, Index n_cols, Index first,
                 float *x) {
    const Index size = blocks_of(s->n_rows) * s->d * ROWS, n = s->own_x ? s->c : 1;
    for (Index at = 0; at < s->q * n; at++)
        pack(src + at / n * step[0] + at % n * step[1], step[2], step[3], s->n_rows, n_cols, s->d,
             x + at * size + first * ROWS);
}

static const float *input_of(const Stack *s, const float *x, Index r, Index block) {
    return x + ((s->own_x ? r : r / s->c) * blocks_of(s->n_rows) + block) * s->d * ROWS;
}

/* weights: w and b of every layer in turn, each with its replicas one after the other; hidden: the
   hidden layers, (replicas, blocks, h, ROWS) each, or one block for all where they are not kept;
   scratch: one block of k units; logits: (replicas, k, n_rows). */
void forward(const Stack *s, const Piece *piece, const float *x, const float *const *weights,
             float *const *hidden, Index kept, float *scratch, float *logits) {
    for (Index r = piece->replica; r < piece->replica_to; r++)
        for (Index block = piece->block; block < piece->block_to; block++) {
            const float *below = input_of(s, x, r, block);
            const Index at = kept ? (r * blocks_of(s->n_rows) + block) * s->h * ROWS : 0;
            for (Index l = 0, n_in = s->d; l <= s->depth; l++, n_in = s->h) {
                const Index last = l == s->depth, n_out = last ? s->k : s->h;
                Layer one = {
                    .w = weights[2 * l] + r * n_out * n_in, .bias = weights[2 * l + 1] + r * n_out,
                    .h = below, .per_out = n_in, .per_in = 1, .n_out = n_out, .n_in = n_in,
                    .n_vecs = vecs_in(s->n_rows, block),
                    .then = l < s->depth - 1 || (!last && s->last_relu) ? RELU : LINEAR,
                    .out = last ? scratch : hidden[l] + at,
                };
                layer(&one);
                below = one.out;
            }
            for (Index k = 0; k < s->k; k++)
                memcpy(logits + (r * s->k + k) * s->n_rows + block * ROWS, below + k * ROWS,
                       rows_in(s->n_rows, block) * sizeof(float));
        }
}

/* grad: that of the logits; grads: room for those of the weights, sums over the rows of the piece;
   scratch: as many blocks as the piece has, of 2 h + k units. */
void backward(const Stack *s, const Piece *piece, const float *x, const float *const *weights,
              const float *const *hidden, const float *grad, float *scratch, float *const *grads) {
    const Index n_blocks = piece->block_to - piece->block, size = n_blocks * s->h * ROWS;
    const Index start = piece->block * ROWS, rows = smaller(s->n_rows - start, n_blocks * ROWS);
    float *top = scratch + 2 * size;
    for (Index r = piece->replica; r < piece->replica_to; r++) {
        const Index at = (r * blocks_of(s->n_rows) + piece->block) * s->h * ROWS;
        pack(grad + r * s->k * s->n_rows + start, 1, s->n_rows, rows, s->k, s->k, top);
        const float *g = top;
        for (Index l = s->depth, n_g = s->k; l >= 0; l--, n_g = s->h) {
            const Index n_in = l ? s->h : s->d;
            const float *below = l ? hidden[l - 1] + at : input_of(s, x, r, piece->block);
            Outer sums = {g, below, n_g, n_in, rows, grads[2 * l] + r * n_g * n_in};
            outer(&sums);
            row_sums(g, n_g, rows, grads[2 * l + 1] + r * n_g);
            if (l == 0) break;
            float *next = scratch + (l % 2) * size;
            for (Index block = 0; block < n_blocks; block++) {
                Layer one = {
                    .w = weights[2 * l] + r * n_g * n_in, .bias = 0, .h = g + block * n_g * ROWS,
                    .per_out = 1, .per_in = n_in, .n_out = n_in, .n_in = n_g,
                    .n_vecs = vecs_in(rows, block),
                    .then = l < s->depth || s->last_relu ? MASK : LINEAR,
                    .mask = below + block * n_in * ROWS, .out = next + block * n_in * ROWS,
                };
                layer(&one);
            }
            g = next;
        }
    }
}
