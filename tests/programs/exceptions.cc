// exceptions.cc - C++: exceptions through frames that enqueue, destructors, templates, inlining.
//
// case: thrown => kernel=300 read=1 ; check-unwinds
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>

#include "guest.h"

namespace {

guest g;

struct last_act {
    int  &count;
    ~last_act()
    {
        guest_add(&g, 1);
        count++;
    }
};

template <int Depth> __attribute__((noinline)) void descend(int &count)
{
    last_act act{count};
    guest_add(&g, 1);
    descend<Depth - 1>(count);
}

template <> __attribute__((noinline)) void descend<0>(int &)
{
    throw std::runtime_error("from the bottom");
}

void rounds()
{
    int count = 0, caught = 0;
    for (int i = 0; i < 30; i++)
        try {
            descend<5>(count);
        } catch (const std::exception &e) {
            caught += std::string(e.what()) == "from the bottom";
        }
    std::printf("caught %d, destructors %d\n", caught, count);
}

} // namespace

int main()
{
    guest_open(&g);
    std::thread thread(rounds);
    thread.join();
    std::printf("ran %d\n", guest_read(&g));
    guest_close(&g);
    return 0;
}
