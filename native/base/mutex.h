// A mutex for sections of some hundred nanoseconds that two threads enter all the time.
#pragma once

#include <pthread.h>

#include <mutex>

namespace nt {

// Waits by spinning for a moment before it sleeps: waking a sleeper costs its waker more than the whole section does.
// Otherwise a std::mutex, for locks and condition variables alike.
class AdaptiveMutex : public std::mutex {
 public:
  AdaptiveMutex() {
    pthread_mutexattr_t attributes;
    if (pthread_mutexattr_init(&attributes) != 0) return;  // an ordinary one, then
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ADAPTIVE_NP);
    pthread_mutex_init(native_handle(), &attributes);
    pthread_mutexattr_destroy(&attributes);
  }
};

}  // namespace nt
