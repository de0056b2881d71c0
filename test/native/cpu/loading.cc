// Models and options that the library does not take.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "rig.h"

using namespace rig;
using onnx::Dim;
using onnx::DType;
using onnx::Graph;

namespace {

using Config = std::vector<std::pair<std::string, std::string>>;

std::string codeOfLoading(const std::string& model, const nt::cpu::Options& options = {}) {
  return codeOf([&] { load(model, options); });
}
std::string codeOfFile(const std::string& path) {
  return codeOf([&] { Engine::load(library(), {path, nullptr, 0}, {}); });
}

// A folder that goes with this object.
struct Folder {
  std::filesystem::path path;
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "cpu-test-XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path / name, std::ios::binary) << bytes;
    return (path / name).string();
  }
};

}  // namespace

TEST("loading: what a model says of its inputs and outputs") {
  {
    const auto engine = load(Graph()
                                 .input("a", DType::float16, std::vector<Dim>{"N", 3, ""})
                                 .input("b", DType::uint64, std::vector<Dim>{})
                                 .node("Identity", {"a"}, {"c"})
                                 .output("c", DType::float16, std::vector<Dim>{"N", 3, ""})
                                 .output("b", DType::uint64, std::vector<Dim>{})
                                 .model());
    CHECK_EQ(engine->inputs().size(), 2u);
    CHECK_EQ(engine->inputs()[0].name, "a");
    CHECK_EQ(engine->inputs()[0].shape, (Shape{-1, 3, -1}));
    CHECK_EQ(engine->inputs()[0].dimensionNames, (std::vector<std::string>{"N", "", ""}));
    CHECK(engine->inputs()[1].shape.empty() && engine->inputs()[1].dtype == DType::uint64);
    CHECK(engine->outputs()[0].dtype == DType::float16);
    CHECK_EQ(engine->deviceIndex(), -1);
  }
  CHECK_NOTHING_LIVE();
}

TEST("loading: bad models are refused, from memory and from files") {
  const Folder folder;
  const std::string good = models::scale();
  CHECK_EQ(codeOfFile(folder.write("good.onnx", good)), "");
  std::vector<std::string> bad = {"", "x", std::string(100, '\0'), std::string(5000, '\xff')};
  for (std::size_t size = 1; size < good.size(); size += 7) bad.push_back(good.substr(0, size));
  bad.push_back(Graph()
                    .input("x", DType::float32, std::vector<Dim>{"N"})
                    .node("NoSuchOperator", {"x"}, {"y"})
                    .output("y", DType::float32, std::vector<Dim>{"N"})
                    .model());
  bad.push_back(Graph()
                    .input("x", DType::float32, std::vector<Dim>{"N"})
                    .node("Identity", {"missing"}, {"y"})
                    .output("y", DType::float32, std::vector<Dim>{"N"})
                    .model());
  for (std::size_t i = 0; i < bad.size(); ++i) {
    const std::string memory = codeOfLoading(bad[i]);
    const std::string file = codeOfFile(folder.write("bad.onnx", bad[i]));
    CHECK_EQ(memory, "ERR_TRT_ONNX_PARSE");
    CHECK_EQ(file, "ERR_TRT_ONNX_PARSE");
  }
  CHECK_EQ(codeOfFile((folder.path / "none.onnx").string()), "ERR_TRT_FILE");
  CHECK_NOTHING_LIVE();
}

TEST("loading: options that the library refuses") {
  const std::string model = models::scale();
  const auto with = [&](const auto& change) {
    nt::cpu::Options options;
    change(options);
    return codeOfLoading(model, options);
  };
  using Options = nt::cpu::Options;
  CHECK_EQ(with([](Options& o) { o.config = {{"", "1"}}; }), "ERR_TRT_INVALID_ARGUMENT");
  CHECK_EQ(with([](Options& o) { o.config = {{std::string(3000, 'k'), "1"}}; }), "ERR_TRT_INVALID_ARGUMENT");
  CHECK_EQ(with([](Options& o) {
             o.config = {{"session.disable_prepacking", std::string(100000, '1')}};
           }),
           "ERR_TRT_INVALID_ARGUMENT");
  CHECK_EQ(with([](Options& o) { o.optimization = 12345; }), "ERR_TRT_INVALID_ARGUMENT");
  CHECK_EQ(with([](Options& o) { o.config = {{"session.disable_prepacking", "1"}}; }), "");
  for (const int optimization : {0, 1, 2, 99}) CHECK_EQ(with([&](Options& o) { o.optimization = optimization; }), "");
  CHECK_NOTHING_LIVE();
}

TEST("loading: the library does not go on to read bytes that are the caller's") {
  const std::string model = models::scale();
  for (const char* key : {"session.use_ort_model_bytes_directly", "session.use_ort_model_bytes_for_initializers"}) {
    nt::cpu::Options options;
    options.config = {{key, "1"}};
    CHECK_EQ(codeOfLoading(model, options), "ERR_TRT_INVALID_ARGUMENT");
    options.config = {{key, "0"}};
    CHECK_EQ(codeOfLoading(model, options), "");
    const Folder folder;
    options.config = {{key, "1"}};
    CHECK_EQ(codeOf([&] { Engine::load(library(), {folder.write("m.onnx", model), nullptr, 0}, options); }), "");
  }
  CHECK_NOTHING_LIVE();
}

TEST("loading: inputs and outputs that no tensor of ours can hold are named") {
  // element type 8: string
  std::string model = Graph()
                          .input("x", DType::float32, std::vector<Dim>{"N"})
                          .node("Identity", {"x"}, {"y"})
                          .node("SequenceConstruct", {"x"}, {"z"})
                          .output("y", DType::float32, std::vector<Dim>{"N"})
                          .model();
  CHECK_EQ(codeOfLoading(model), "");
  std::vector<Dim> nine(9, Dim("N"));
  const auto engine = load(Graph()
                               .input("x", DType::float32, nine)
                               .node("Identity", {"x"}, {"y"})
                               .node("Shape", {"x"}, {"s"})
                               .output("y", DType::float32, nine)
                               .output("s", DType::int64, std::vector<Dim>{9})
                               .model());
  // a tensor of more dimensions than ours have is no other type: it is refused where one comes
  CHECK(engine->unsupported().empty() && engine->inputs().size() == 1 && engine->outputs().size() == 2);
  Rig rig(engine, {});
  const std::vector<Input> one = {input(Shape(9, 1), std::vector<float>{5})};
  CHECK_EQ(codeOf(rig.infer(one).failure), "ERR_TRT_SHAPE");
  Part part;
  part.outputs = 2;
  const Completion sizes = rig.infer(one, part);
  CHECK(!sizes.failure && values<int64_t>(sizes.outputs[1]) == std::vector<int64_t>(9, 1));
}

TEST("loading: a process has one library") {
  const std::string path = library().path();
  const Folder folder;
  CHECK_EQ(codeOf([&] { nt::onnxruntime::Library::open({path, ""}); }), "");
  CHECK_EQ(codeOf([&] { nt::onnxruntime::Library::open({"", ""}); }), "");
  CHECK_EQ(codeOf([&] {
             nt::onnxruntime::Library::open({std::filesystem::path(path).parent_path().string(), ""});
           }),
           "");
  CHECK_CODE("ERR_TRT_NO_ONNXRUNTIME", nt::onnxruntime::Library::open({folder.path.string(), ""}));
  CHECK_CODE("ERR_TRT_NO_ONNXRUNTIME",
             nt::onnxruntime::Library::open({folder.write("libonnxruntime.so.1", "no library"), ""}));
  CHECK_CODE("ERR_TRT_NO_ONNXRUNTIME", nt::onnxruntime::Library::open({"/no/such/file", ""}));
}
