// Gamma and normal numbers: Marsaglia and Tsang's method on a ziggurat of 256 layers.

#pragma once

#include "world.hpp"

namespace {

struct Ziggurat {
    static constexpr double TAIL = 3.6541528853610088, AREA = 0.00492867323399, WHOLE = 0x1p52;
    uint64_t inside[256];
    double scale[256], height[256];

    Ziggurat() {
        double edge = TAIL, before = TAIL;
        const double bottom = AREA / std::exp(-0.5 * edge * edge);
        inside[0] = static_cast<uint64_t>(edge / bottom * WHOLE);
        inside[1] = 0;
        scale[0] = bottom / WHOLE;
        scale[255] = edge / WHOLE;
        height[0] = 1.0;
        height[255] = std::exp(-0.5 * edge * edge);
        for (int i = 254; i > 0; --i) {
            edge = std::sqrt(-2.0 * std::log(AREA / edge + std::exp(-0.5 * edge * edge)));
            inside[i + 1] = static_cast<uint64_t>(edge / before * WHOLE);
            before = edge;
            height[i] = std::exp(-0.5 * edge * edge);
            scale[i] = edge / WHOLE;
        }
    }
};

const Ziggurat ZIGGURAT;

inline double normal(Sfc64 &rng) {
    for (;;) {
        const uint64_t bits = rng.next();
        const int layer = bits & 0xff;
        const uint64_t size = (bits >> 9) & 0xfffffffffffff;
        double x = static_cast<double>(static_cast<int64_t>(size)) * ZIGGURAT.scale[layer];
        x = bits & 0x100 ? -x : x;
        if (size < ZIGGURAT.inside[layer]) return x;
        if (layer == 0) {
            double beyond, y;
            do {
                beyond = -std::log(1.0 - rng.uniform()) / Ziggurat::TAIL;
                y = -std::log(1.0 - rng.uniform());
            } while (y + y <= beyond * beyond);
            return bits & 0x100 ? -Ziggurat::TAIL - beyond : Ziggurat::TAIL + beyond;
        }
        const double low = ZIGGURAT.height[layer], high = ZIGGURAT.height[layer - 1];
        if (low + rng.uniform() * (high - low) < std::exp(-0.5 * x * x)) return x;
    }
}

struct Shapes {
    double spread[MOST_ROUNDS];

    Shapes() {
        for (int i = 0; i < MOST_ROUNDS; ++i) spread[i] = 1.0 / std::sqrt(9.0 * (i + 2.0 / 3.0));
    }
};

const Shapes SHAPES;

// Of the shape 1 + count: shapes are whole numbers, so their spreads are looked up.
inline double gamma(int count, Sfc64 &rng) {
    if (count == 0) return -std::log(1.0 - rng.uniform());
    const double b = count + 2.0 / 3.0, c = SHAPES.spread[count];
    for (;;) {
        double x, v;
        do {
            x = normal(rng);
            v = 1.0 + c * x;
        } while (v <= 0.0);
        v = v * v * v;
        const double u = rng.uniform(), square = x * x;
        if (u < 1.0 - 0.0331 * square * square) return b * v;
        if (std::log(u) < 0.5 * square + b * (1.0 - v + std::log(v))) return b * v;
    }
}

}  // namespace
