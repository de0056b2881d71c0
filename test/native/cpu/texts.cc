// Tensors of texts, packed: what comes back, what is no such bytes, and that nothing of them stays.
#include "rig.h"

using namespace rig;
using onnx::DType;

namespace {

// Each behind its length in four bytes.
std::vector<uint8_t> packed(const std::vector<std::string>& texts) {
  std::vector<uint8_t> bytes;
  for (const std::string& text : texts) {
    for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<uint8_t>(text.size() >> (8 * i)));
    bytes.insert(bytes.end(), text.begin(), text.end());
  }
  return bytes;
}

}  // namespace

TEST("texts: empty ones, NULs, large ones and none come back as they are") {
  {
    Rig rig(models::identity(DType::string));
    const std::string large(300'000, 'x');
    const std::vector<std::vector<std::string>> cases = {
        {"a", "b"}, {"", "", "x"}, {std::string("a\0b", 3)}, {large, "", large}, {}, {std::string("\xff\xfe", 2)}};
    for (const std::vector<std::string>& texts : cases) {
      const auto bytes = packed(texts);
      const auto count = static_cast<int64_t>(texts.size());
      for (const Completion& done : {rig.infer({input({count}, bytes)}), rig.run({input({count}, bytes)})}) {
        CHECK_EQ(codeOf(done.failure), "");
        if (done.failure) continue;
        CHECK_EQ(done.outputs[0].shape.vector(), (Shape{count}));
        CHECK(values<uint8_t>(done.outputs[0]) == bytes);
      }
    }
  }
  CHECK_NOTHING_LIVE();
}

TEST("texts: bytes that are no texts, or not as many, are refused") {
  Rig rig(models::identity(DType::string));
  const auto two = packed({"ab", "c"});
  for (const int64_t count : {0, 1, 3}) CHECK_EQ(codeOf(rig.infer({input({count}, two)}).failure), "ERR_TRT_SHAPE");
  for (std::size_t size = 1; size < two.size(); ++size) {
    const std::vector<uint8_t> cut(two.begin(), two.begin() + static_cast<std::ptrdiff_t>(size));
    CHECK_EQ(codeOf(rig.infer({input({2}, cut)}).failure), "ERR_TRT_SHAPE");
  }
  CHECK_EQ(codeOf(rig.infer({input({1}, std::vector<uint8_t>{0xff, 0xff, 0xff, 0xff})}).failure), "ERR_TRT_SHAPE");
  CHECK_EQ(codeOf(rig.infer({input({2}, two)}).failure), "");
}
