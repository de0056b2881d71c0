// What a fake plan holds and how it computes. Plain data and plain loops; nothing of TensorRT's in here.
//
// A plan: "ftrt", u32 layout 0, u64 FNV-1a of the body, u64 size of the whole plan, major/minor/patch/build at
// bytes 24..27, zeros to 32, then lines of space-separated words (names percent-encoded, lists with commas, "." for an
// empty list):
//   name N | aux COUNT | memory BYTES,... | weights BYTES | compute MS | verbosity ProfilingVerbosity
//   input|output NAME DTYPE DIMS device|host FORMAT VECTOR-DIM COMPONENTS
//   dims PROFILE NAME MIN OPT MAX          (lists)
//   values PROFILE NAME MIN OPT MAX        (of a host shape tensor)
//   const NAME DTYPE DIMS HEX              ("-" for HEX: a weight that is not in the plan)
//   refit 0|1|2|3                          (Refit; but for 0, constants of a floating type are weights)
//   plugin NAME                            (it is not deserialized without)
//   hostcode 0|1                           (it has code for the host inside)
//   temporary BYTES                        (of device memory for each enqueue)
//   persistent BYTES                       (of device memory that each context takes for itself)
//   alias OUTPUT INPUT                     (the output is written in the input's memory)
//   op TYPE OUTPUTS INPUTS [KEY=VALUE]...
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace fake {

// Numbers as in nvinfer1::DataType.
enum class Type : int {
  kFloat = 0,
  kHalf = 1,
  kInt8 = 2,
  kInt32 = 3,
  kBool = 4,
  kUint8 = 5,
  kFp8 = 6,
  kBf16 = 7,
  kInt64 = 8,
  kInt4 = 9
};
using Shape = std::vector<std::int64_t>;

bool parseType(const std::string& text, Type* type);
const char* typeName(Type type);
std::int64_t bitsOf(Type type);
std::int64_t bytesFor(Type type, const Shape& shape);  // shape without unknowns
std::int64_t count(const Shape& shape);

struct Value {
  Type type = Type::kFloat;
  Shape shape;
  std::vector<unsigned char> bytes;
  bool missing = false;  // a weight that was left out
};

struct Port {
  std::string name;
  bool input = false;
  Type type = Type::kFloat;
  Shape shape;
  bool host = false;
  int format = 0, vectorDim = -1, components = 1;
};

struct Range {
  Shape min, opt, max;
};
struct Profile {
  std::map<std::string, Range> dims, values;
};

struct Op {
  std::string type;
  std::vector<std::string> outputs, inputs;
  std::map<std::string, std::string> attributes;
  std::int64_t number(const std::string& key, std::int64_t otherwise) const;
  double real(const std::string& key, double otherwise) const;
  Shape list(const std::string& key) const;
};

// Which weights can be replaced: what was said when the plan was built.
enum class Refit : int { kNone, kAll, kStripped, kIdentical };

struct Program {
  std::string name = "fake";
  int aux = 0;
  std::vector<std::int64_t> memories{4096};  // a context's, for each profile; the last one for all that follow
  std::int64_t weights = 1024;
  double compute = -1;  // milliseconds; negative: what the driver's computeMs says
  int verbosity = 0;    // a number of ProfilingVerbosity: what an inspector may tell
  std::vector<Port> ports;
  std::vector<Profile> profiles;
  std::map<std::string, Value> constants;
  Refit refit = Refit::kNone;
  std::string plugin;  // that it needs
  bool hostCode = false;
  std::int64_t temporary = 0, persistent = 0;
  std::map<std::string, std::string> aliases;  // output → input
  std::vector<Op> ops;

  const Port* port(const std::string& name) const;
  std::int64_t memory() const;  // the largest
  std::int64_t memoryOf(int profile) const;
  bool dataDependent() const;
  std::map<std::string, Type> types() const;  // of all tensors
  bool complete() const;                      // no weight is missing
  std::int64_t missingBytes() const;
  bool isWeight(const std::string& name) const;
  // Weights that are replaced together, as fused layers have them: of a matmul and of the add that follows it.
  std::vector<std::string> fusedWith(const std::string& weight) const;
};

// Empty text: fine, else what is wrong.
std::string parseProgram(const std::string& text, Program* out);
std::string printProgram(const Program& program, bool weights = true);
std::string wrapPlan(const std::string& body, int major, int minor, int patch, int build);
std::string encodeName(const std::string& name);

using Shapes = std::map<std::string, Shape>;
using Values = std::map<std::string, Value>;

// Shapes of everything from those of the inputs; -1 where it depends on data. `known` holds the values of host inputs.
// An empty text: fine.
std::string inferShapes(const Program& program, const Shapes& inputs, const Values& known, Shapes* out,
                        Shapes* largest = nullptr);
// Computes all values from those of the inputs.
std::string evaluate(const Program& program, Values* values);

bool knownOp(const std::string& type);
bool isPictureOp(const std::string& type);
std::string inferPictureOp(const Op& op, const std::vector<const Shape*>& shapes,
                           const std::vector<const Value*>& values, Shape* out, Shape* largest);
std::string runPictureOp(const Op& op, const std::vector<const Value*>& inputs, Value* out);
// Its elements are int64, whatever its inputs are.
bool givesIndices(const std::string& type);
// The size of its output depends on the values of its inputs.
bool dependsOnData(const std::string& type);
std::string inferOp(const Op& op, const std::vector<const Shape*>& shapes, const std::vector<const Value*>& values,
                    Shape* out, Shape* largest);
std::string runOp(const Op& op, const std::vector<const Value*>& inputs, Value* out);

}  // namespace fake
