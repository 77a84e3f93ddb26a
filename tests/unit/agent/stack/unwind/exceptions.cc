// exceptions.cc - walks between C++ exceptions thrown, caught and passed on.
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>
#include <algorithm>

#include "oracle.h"

static struct oracle *o;
static volatile int   sink;

struct Guard {
    ~Guard() { oracle_check(o); } // runs while the stack is being unwound
};

__attribute__((noinline)) static void thrower(int n)
{
    Guard guard;
    std::string text(static_cast<size_t>(n) + 20, 'x');
    if (n > 0)
        thrower(n - 1);
    oracle_check(o);
    if (n == 0)
        throw std::runtime_error(text);
    sink = sink + static_cast<int>(text.size());
}

__attribute__((noinline)) static void catcher(int n)
{
    try {
        thrower(n);
    } catch (const std::exception &) {
        oracle_check(o);
        if (n % 3 == 0)
            throw;
    }
    oracle_check(o);
}

struct Base {
    virtual void run(int n) = 0;
    virtual ~Base() = default;
};
struct Left : Base {
    void run(int n) override;
};
struct Right : Base {
    void run(int n) override;
    char room[100] = {};
};
void Left::run(int n)
{
    if (n > 0)
        Right().run(n - 1);
    oracle_check(o);
}
void Right::run(int n)
{
    std::function<void()> again = [n] { Left().run(n - 1); };
    again();
    oracle_check(o);
}

int main()
{
    o = oracle_create();
    for (int i = 0; i < 60; i++) {
        try {
            catcher(i % 11);
        } catch (...) {
            oracle_check(o);
        }
        Left().run(i % 7);
        std::vector<int> numbers{5, 2, 8, 1, 9, 3};
        std::sort(numbers.begin(), numbers.end(), [](int a, int b) {
            oracle_check(o);
            return a < b;
        });
    }
    std::printf("%llu walks, %llu mismatches\n", static_cast<unsigned long long>(o->walks),
                static_cast<unsigned long long>(o->mismatches));
    bool bad = o->mismatches != 0 || o->shared == 0;
    oracle_destroy(o);
    return bad;
}
