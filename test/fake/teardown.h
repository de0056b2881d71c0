// What real libraries do at the end of the process to a thread that is still inside of them. They make statics as they
// go, at the first build, the first context, the first enqueue; at exit those are destroyed before the handlers run
// that were registered earlier. The fakes make such statics, too, which end the process with SIGABRT where another
// thread is inside of their library then; who calls it afterwards does the same. Each library has its own.
#pragma once
#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace fake {

inline std::atomic<int> callsInside{0};
inline std::atomic<bool> isTornDown{false};
inline thread_local int callsHere = 0;  // of this thread: one that is inside may end the process itself

[[noreturn]] inline void failTornDown(const char* how) {
  std::fprintf(stderr, "fake: a library that is torn down at exit %s\n", how);
  std::abort();
}

inline void checkNotTornDown() {
  if (isTornDown) failTornDown("was called");
}

// A thread is inside of the library as long as it has one.
struct Inside {
  Inside() {
    checkNotTornDown();
    ++callsInside, ++callsHere;
  }
  Inside(const Inside&) = delete;
  ~Inside() { --callsInside, --callsHere; }
};

// To be a static variable of a function, which registers its destructor when it is reached first.
struct Teardown {
  ~Teardown() {
    isTornDown = true;
    if (callsInside > callsHere) failTornDown("has another thread inside of it");
  }
};

}  // namespace fake
