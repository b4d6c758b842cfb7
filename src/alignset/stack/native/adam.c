// One step of Adam with coupled L2, in one pass over memory.
//
// Numbers come in runs that belong to one replica: replica (i / run) % replicas owns number i.
// rate is -lr / (1 - beta_1^t), root is 1 / sqrt(1 - beta_2^t).

#include <math.h>
#include <stdint.h>

// Update the numbers start .. stop of p; m and v are the running means of g and g^2.
void adam(float *restrict p, const float *restrict g, float *restrict m, float *restrict v,
          int64_t start, int64_t stop, int64_t run, int64_t replicas, const float *rate,
          const float *l2, float root, double beta_1, double beta_2, float eps)
{
    const float new_1 = (float)(1.0 - beta_1), old_2 = (float)beta_2, new_2 = (float)(1.0 - beta_2);
    while (start < stop) {
        const int64_t r = start / run % replicas, next = (start / run + 1) * run;
        const int64_t end = next < stop ? next : stop;
        const float lr = rate[r], decay = l2[r];
        for (int64_t i = start; i < end; i++) {
            const float slope = g[i] + decay * p[i];
            m[i] += new_1 * (slope - m[i]);
            v[i] = old_2 * v[i] + new_2 * (slope * slope);
            p[i] += lr * m[i] / (sqrtf(v[i]) * root + eps);
        }
        start = end;
    }
}
