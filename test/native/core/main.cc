// core_test FOLDER [PART]: FOLDER has the fake libnvinfer of one family, or TensorRT-RTX, NODE_TENSORRT_LIBCUDA names
// the fake driver; of all cases those with PART in their name. Cases called "rtx: …" are for TensorRT-RTX alone.
#include <cstdio>
#include <cstdlib>

#include "../support/test.h"
#include "fakes.h"

int main(int count, char** arguments) {
  if (count < 2 || std::getenv("NODE_TENSORRT_LIBCUDA") == nullptr) {
    std::fprintf(stderr, "usage: NODE_TENSORRT_LIBCUDA=libcuda.so.1 core_test FOLDER-OF-LIBNVINFER [PART-OF-A-NAME]\n");
    return 2;
  }
  // the cases of faults.cc use one device each
  setenv("FAKE_CUDA_DEVICES", "20000", 1);
  fakes::open(arguments[1]);
  if (!fakes::isRtx())
    std::erase_if(test::cases(), [](const test::Case& each) { return std::string(each.name).rfind("rtx: ", 0) == 0; });
  const int code = test::run(count > 2 ? arguments[2] : "");
  std::fflush(stdout);
  return code;
}
