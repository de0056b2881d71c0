#include "deaths.h"

#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace fake {
namespace {

// What the process uses now and 256 MiB: then memory runs out, for everybody in it.
void runOutOfMemory() {
  long pages = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%ld", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  const auto limit = static_cast<rlim_t>(pages) * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + (256u << 20);
  const rlimit both{limit, limit};
  setrlimit(RLIMIT_AS, &both);
  std::vector<std::vector<char>> all;
  while (true) all.emplace_back(1 << 20, 'x');
}

// Returns only for who counts beyond 2³¹ frames.
int deeper(volatile int* depth) {
  if (*depth < 0) return 0;
  volatile char frame[4096] = {static_cast<char>(*depth)};
  *depth = *depth + 1;
  return frame[0] + deeper(depth) + frame[1];
}

void die(const std::string& how) {
  if (how == "segv") {
    volatile int* volatile nowhere = nullptr;
    *nowhere = 1;
  } else if (how == "abort") {
    std::fprintf(stderr, "Assertion failed: the fake was told to abort\n");
    std::abort();
  } else if (how == "throw") {
    throw std::runtime_error("the fake was told to throw");  // out of a noexcept function: std::terminate
  } else if (how == "exit") {
    _exit(3);
  } else if (how == "exitHandlers") {
    std::exit(4);
  } else if (how == "kill") {
    std::raise(SIGKILL);  // as the kernel does when the machine runs out of memory
  } else if (how == "memory") {
    runOutOfMemory();
  } else if (how == "stack") {
    volatile int depth = 0;
    deeper(&depth);
  } else if (how == "loop") {
    for (const std::atomic<bool> on{true}; on;) {
    }
  }
}

}  // namespace

std::string wish(const std::string& graphName, const std::string& key) {
  const auto at = graphName.find(";" + key + "=");
  if (at == std::string::npos) return "";
  const auto begin = at + key.size() + 2;
  return graphName.substr(begin, graphName.find(';', begin) - begin);
}

void dieIfWished(const std::string& graphName, const std::string& place) noexcept {
  const std::string wanted = wish(graphName, "die");
  if (wanted.rfind(place + ":", 0) == 0) die(wanted.substr(place.size() + 1));
}

}  // namespace fake
