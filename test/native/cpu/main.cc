// cpu_test LIBRARY [PART]: LIBRARY is an onnxruntime, libonnxruntime.so.1; of all cases those with PART in their name.
#include <cstdio>

#include "rig.h"

int main(int count, char** arguments) {
  if (count < 2) {
    std::fprintf(stderr, "usage: cpu_test LIBONNXRUNTIME [PART-OF-A-NAME]\n");
    return 2;
  }
  test::say(rig::library(arguments[1]).name());
  const int code = test::run(count > 2 ? arguments[2] : "");
  std::fflush(stdout);
  return code;
}
