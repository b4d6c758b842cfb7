/* Per-row losses with their slopes, and weighted sums over rows, in one pass each.

   Values are (replicas, rows). What all replicas of a problem share - signs, targets, weights -
   comes once per problem: replica r reads entry r / per. */

#include <math.h>
#include <stdint.h>
#include <string.h>

typedef int64_t Index;

/* exp(x) for x <= 0, to two units in the last place; 2^n is put together from its bits */
static inline float exp_of(float x) {
    x = x < -87.0f ? -87.0f : x;
    const float n = rintf(x * 1.44269504f);
    const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    float p = 1.98756915e-4f;
    p = p * r + 1.39819995e-3f;
    p = p * r + 8.33345190e-3f;
    p = p * r + 4.16657960e-2f;
    p = p * r + 1.66666655e-1f;
    p = p * r + 5.00000012e-1f;
    p = p * (r * r) + r + 1.0f;
    const uint32_t bits = (uint32_t)((int32_t)n + 127) << 23; /* of NaN, any: p is NaN, too */
    float scale;
    memcpy(&scale, &bits, sizeof scale);
    return p * scale;
}

/* log(1 + t) for 0 <= t <= 1: twice the area tangent of t / (2 + t), a series that ends soon */
static inline float log_1p(float t) {
    const float s = t / (2.0f + t), q = s * s;
    float p = 1.0f / 15;
    p = p * q + 1.0f / 13;
    p = p * q + 1.0f / 11;
    p = p * q + 1.0f / 9;
    p = p * q + 1.0f / 7;
    p = p * q + 1.0f / 5;
    p = p * q + 1.0f / 3;
    return 2.0f * (s + s * q * p);
}

/* log(1 + exp(z)), and its slope, the sigmoid; NaN stays NaN */
static inline float softplus(float z, float *slope) {
    const float t = exp_of(-fabsf(z));
    *slope = (z < 0 ? t : 1.0f) / (1.0f + t);
    return (z < 0 ? 0.0f : z) + log_1p(t);
}

/* Two classes: log(1 + exp(sign (z_1 - z_0))) of logits z (replicas, 2, rows). */
void pair_loss(const float *z, const float *sign, Index n, Index per, Index rows,
               float *restrict loss, float *restrict slope) {
    for (Index r = 0; r < n; r++, z += 2 * rows, loss += rows, slope += 2 * rows) {
        const float *s = sign + r / per * rows;
        for (Index b = 0; b < rows; b++) {
            float up;
            loss[b] = softplus(s[b] * (z[rows + b] - z[b]), &up);
            slope[rows + b] = s[b] * up;
            slope[b] = -slope[rows + b];
        }
    }
}

/* One logit: log(1 + exp(z)) - target z. */
void logit_loss(const float *z, const float *target, Index n, Index per, Index rows,
                float *restrict loss, float *restrict slope) {
    for (Index r = 0; r < n; r++, z += rows, loss += rows, slope += rows) {
        const float *t = target + r / per * rows;
        for (Index b = 0; b < rows; b++) {
            float up;
            loss[b] = softplus(z[b], &up) - t[b] * z[b];
            slope[b] = up - t[b];
        }
    }
}

/* out[r, g] = sum_b values[r, b] weight[r / per, g, b] */
void weighted_sums(const float *values, const float *weight, Index n, Index per, Index groups,
                   Index rows, float *out) {
    for (Index r = 0; r < n; r++, values += rows)
        for (Index g = 0; g < groups; g++) {
            const float *w = weight + (r / per * groups + g) * rows;
            float sum = 0;
            for (Index b = 0; b < rows; b++) sum += values[b] * w[b];
            out[r * groups + g] = sum;
        }
}

/* out[r, b] = sum_g grad[r, g] weight[r / per, g, b] */
void weighted_sums_gradient(const float *grad, const float *weight, Index n, Index per,
                            Index groups, Index rows, float *restrict out) {
    for (Index r = 0; r < n; r++, grad += groups, out += rows) {
        const float *w = weight + r / per * groups * rows;
        for (Index b = 0; b < rows; b++) out[b] = grad[0] * w[b];
        for (Index g = 1; g < groups; g++)
            for (Index b = 0; b < rows; b++) out[b] += grad[g] * w[g * rows + b];
    }
}
