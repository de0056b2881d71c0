// Threads of ours, and the one error where the system has none left.
#pragma once

#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "error.h"

namespace nt {

// `purpose` is the end of a sentence. Throws ERR_TRT_NO_THREAD.
template <class Body>
std::thread startThread(const std::string& purpose, Body&& body) {
  try {
    return std::thread(std::forward<Body>(body));
  } catch (const std::system_error& error) {
    throw Error("ERR_TRT_NO_THREAD",
                "The system gives this process no further thread, which was to be " + purpose + " (" +
                    error.code().message() +
                    "): raise what limits it (ulimit -u, pids of the container, memory for the thread's stack), or use "
                    "fewer engines and lanes",
                {{"purpose", purpose}});
  }
}

}  // namespace nt
