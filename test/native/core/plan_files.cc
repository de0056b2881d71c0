// Plans that TensorRT reads from a file itself.
#include <fcntl.h>
#include <unistd.h>

#include "../../../native/gpu/stream_reader.h"
#include "rig.h"

using namespace rig;

namespace {

// An open file without a name.
struct File {
  int descriptor;
  explicit File(const std::string& content) : descriptor(::open("/tmp", O_TMPFILE | O_RDWR, 0600)) {
    CHECK(descriptor >= 0 && ::write(descriptor, content.data(), content.size()) == ssize_t(content.size()));
  }
  ~File() { ::close(descriptor); }
};

}  // namespace

TEST("plan files: TensorRT reads a plan, half of it into device memory, and the descriptor may be closed before") {
  fakes::reset();
  {
    std::unique_ptr<nt::gpu::PlanFile> file;
    {
      const File opened(fakes::plan(plans::scale));
      file = std::make_unique<nt::gpu::PlanFile>(opened.descriptor);
    }
    const auto engine = Engine::load(library(), DeviceContext::get(0), nt::gpu::PlanSource(*file));
    CHECK_EQ(fakes::tensorrtCalls()["VRuntime.deserializeCudaEngineV2"], 1);
    CHECK_EQ(fakes::tensorrtCalls()["VRuntime.deserializeCudaEngine"], 0);
    Rig rig(engine, {});
    CHECK(scaledRight(rig.infer({input({2, 3}, numbers(2, 3, 1))}), numbers(2, 3, 1)));
  }
  CHECK_NOTHING_LIVE();
}

TEST("plan files: a damaged one is refused, and what cannot be read says so") {
  fakes::reset();
  std::string plan = fakes::plan(plans::scale);
  plan[plan.size() - 5] ^= 1;
  const File damaged(plan);
  const nt::gpu::PlanFile file(damaged.descriptor);
  const auto load = [&] { Engine::load(library(), DeviceContext::get(0), nt::gpu::PlanSource(file)); };
  CHECK_CODE("ERR_TRT_PLAN", load());
  fakes::driver("fail", "cuMemcpyHtoDAsync_v2:1:1");
  CHECK_CODE("ERR_TRT_CUDA", load());
  CHECK_CODE("ERR_TRT_FILE", nt::gpu::PlanFile(-1));
  fakes::reset();
  CHECK_NOTHING_LIVE();
}

TEST("plan files: reading and seeking stay within the file") {
  const DeviceContext& device = DeviceContext::get(0);
  const nt::cuda::DeviceScope scope(device);
  const File opened("0123456789");
  const nt::gpu::PlanFile file(opened.descriptor);
  CHECK_EQ(file.size(), 10u);
  nt::gpu::StreamReader reader(file, device);
  char text[16] = {};
  CHECK_EQ(reader.read(text, 4, nullptr), 4);
  CHECK_EQ(std::string(text, 4), "0123");
  CHECK(reader.seek(-2, 2));
  CHECK_EQ(reader.read(text, 16, nullptr), 2);
  CHECK_EQ(std::string(text, 2), "89");
  CHECK_EQ(reader.read(text, 16, nullptr), 0);
  CHECK(reader.seek(-9, 1));
  CHECK_EQ(reader.read(text, 1, nullptr), 1);
  CHECK_EQ(text[0], '1');
  CHECK(!reader.seek(-1, 0));
  CHECK(!reader.seek(1, 2));
  CHECK(!reader.seek(0, 3));
  CHECK_EQ(reader.read(text, -1, nullptr), -1);
}
