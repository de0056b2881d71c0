// Fake plans: reading, writing, and walking their operations.
#include "program.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <sstream>

namespace fake {

static const struct {
  Type type;
  const char* name;
  int bits;
} types[] = {{Type::kFloat, "float32", 32}, {Type::kHalf, "float16", 16},  {Type::kInt8, "int8", 8},
             {Type::kInt32, "int32", 32},   {Type::kBool, "bool", 8},      {Type::kUint8, "uint8", 8},
             {Type::kFp8, "float8e4m3", 8}, {Type::kBf16, "bfloat16", 16}, {Type::kInt64, "int64", 64},
             {Type::kInt4, "int4", 4}};

bool parseType(const std::string& text, Type* type) {
  for (const auto& row : types)
    if (text == row.name) return *type = row.type, true;
  return false;
}
const char* typeName(Type type) {
  for (const auto& row : types)
    if (type == row.type) return row.name;
  return "unknown";
}
std::int64_t bitsOf(Type type) {
  for (const auto& row : types)
    if (type == row.type) return row.bits;
  return 8;
}
std::int64_t count(const Shape& shape) {
  std::int64_t product = 1;
  for (const auto extent : shape) product *= extent;
  return product;
}
std::int64_t bytesFor(Type type, const Shape& shape) { return (count(shape) * bitsOf(type) + 7) / 8; }

std::int64_t Op::number(const std::string& key, std::int64_t otherwise) const {
  const auto found = attributes.find(key);
  return found == attributes.end() ? otherwise : std::atoll(found->second.c_str());
}
double Op::real(const std::string& key, double otherwise) const {
  const auto found = attributes.find(key);
  return found == attributes.end() ? otherwise : std::atof(found->second.c_str());
}

static std::vector<std::string> words(const std::string& text, char separator) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, separator);)
    if (!word.empty()) out.push_back(word);
  return out;
}

static std::string decodeName(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      out += static_cast<char>(std::strtol(text.substr(i + 1, 2).c_str(), nullptr, 16));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string encodeName(const std::string& name) {
  std::string out;
  char code[4];
  for (const unsigned char c : name) {
    if (c <= ' ' || c == '%' || c == ',' || c == '=' || c > '~') {
      std::snprintf(code, sizeof code, "%%%02x", c);
      out += code;
    } else {
      out += static_cast<char>(c);
    }
  }
  return out.empty() ? "%" : out;
}

static Shape parseShape(const std::string& text) {
  Shape out;
  if (text == ".") return out;
  for (const auto& word : words(text, ',')) out.push_back(std::atoll(word.c_str()));
  return out;
}
static std::string printShape(const Shape& shape) {
  std::string out;
  for (const auto extent : shape) out += (out.empty() ? "" : ",") + std::to_string(extent);
  return out.empty() ? "." : out;
}

Shape Op::list(const std::string& key) const {
  const auto found = attributes.find(key);
  return found == attributes.end() ? Shape{} : parseShape(found->second);
}

const Port* Program::port(const std::string& wanted) const {
  for (const auto& each : ports)
    if (each.name == wanted) return &each;
  return nullptr;
}

std::int64_t Program::memory() const {
  std::int64_t most = 0;
  for (const auto bytes : memories) most = std::max(most, bytes);
  return most;
}
std::int64_t Program::memoryOf(int profile) const {
  if (profile < 0 || profile >= static_cast<int>(profiles.size())) return 0;
  return memories[std::min(static_cast<std::size_t>(profile), memories.size() - 1)];
}

bool Program::dataDependent() const {
  for (const auto& op : ops)
    if (dependsOnData(op.type)) return true;
  return false;
}

std::map<std::string, Type> Program::types() const {
  std::map<std::string, Type> out;
  for (const auto& port : ports)
    if (port.input) out[port.name] = port.type;
  for (const auto& [name, value] : constants) out[name] = value.type;
  for (const auto& op : ops) {
    Type type = op.inputs.empty() ? Type::kFloat : out[op.inputs[0]];
    if (op.type == "cast") parseType(op.attributes.at("to"), &type);
    if (givesIndices(op.type)) type = Type::kInt64;
    out[op.outputs[0]] = type;
  }
  return out;
}

bool Program::complete() const {
  for (const auto& [_, value] : constants)
    if (value.missing) return false;
  return true;
}

std::int64_t Program::missingBytes() const {
  std::int64_t bytes = 0;
  for (const auto& [_, value] : constants)
    if (value.missing) bytes += bytesFor(value.type, value.shape);
  return bytes;
}

bool Program::isWeight(const std::string& name) const {
  const auto found = constants.find(name);
  return refit != Refit::kNone && found != constants.end() &&
         (found->second.type == Type::kFloat || found->second.type == Type::kHalf || found->second.type == Type::kBf16);
}

std::vector<std::string> Program::fusedWith(const std::string& weight) const {
  std::vector<std::string> out;
  const auto weightOf = [&](const Op& op) {
    for (const auto& name : op.inputs)
      if (isWeight(name)) return name;
    return std::string();
  };
  for (const auto& first : ops)
    for (const auto& second : ops) {
      if (first.type != "matmul" || second.type != "add") continue;
      bool follows = false;
      for (const auto& name : second.inputs) follows |= name == first.outputs[0];
      const std::string a = weightOf(first), b = weightOf(second);
      if (!follows || a.empty() || b.empty()) continue;
      if (a == weight) out.push_back(b);
      if (b == weight) out.push_back(a);
    }
  return out;
}

static std::vector<std::string> names(const std::string& text) {
  std::vector<std::string> out;
  if (text == ".") return out;
  for (const auto& word : words(text, ',')) out.push_back(decodeName(word));
  return out;
}

std::string parseProgram(const std::string& text, Program* out) {
  for (const auto& line : words(text, '\n')) {
    const auto w = words(line, ' ');
    const auto bad = [&] { return "cannot read the line '" + line + "'"; };
    if (w.size() < 2) return bad();
    if (w[0] == "name") {
      out->name = decodeName(w[1]);
    } else if (w[0] == "aux") {
      out->aux = std::atoi(w[1].c_str());
    } else if (w[0] == "memory") {
      out->memories = parseShape(w[1]);
      if (out->memories.empty()) return bad();
    } else if (w[0] == "weights") {
      out->weights = std::atoll(w[1].c_str());
    } else if (w[0] == "compute") {
      out->compute = std::atof(w[1].c_str());
    } else if (w[0] == "verbosity") {
      out->verbosity = std::atoi(w[1].c_str());
    } else if (w[0] == "refit") {
      out->refit = static_cast<Refit>(std::atoi(w[1].c_str()));
    } else if (w[0] == "plugin") {
      out->plugin = decodeName(w[1]);
    } else if (w[0] == "hostcode") {
      out->hostCode = w[1] == "1";
    } else if (w[0] == "temporary") {
      out->temporary = std::atoll(w[1].c_str());
    } else if (w[0] == "persistent") {
      out->persistent = std::atoll(w[1].c_str());
    } else if (w[0] == "alias" && w.size() >= 3) {
      out->aliases[decodeName(w[1])] = decodeName(w[2]);
    } else if ((w[0] == "input" || w[0] == "output") && w.size() >= 8) {
      Port port;
      port.name = decodeName(w[1]);
      port.input = w[0] == "input";
      if (!parseType(w[2], &port.type)) return bad();
      port.shape = parseShape(w[3]);
      port.host = w[4] == "host";
      port.format = std::atoi(w[5].c_str());
      port.vectorDim = std::atoi(w[6].c_str());
      port.components = std::atoi(w[7].c_str());
      out->ports.push_back(port);
    } else if ((w[0] == "dims" || w[0] == "values") && w.size() >= 6) {
      const std::size_t index = std::strtoul(w[1].c_str(), nullptr, 10);
      if (index > 1000) return bad();
      if (out->profiles.size() <= index) out->profiles.resize(index + 1);
      auto& map = w[0] == "dims" ? out->profiles[index].dims : out->profiles[index].values;
      map[decodeName(w[2])] = {parseShape(w[3]), parseShape(w[4]), parseShape(w[5])};
    } else if (w[0] == "const" && w.size() >= 4) {
      Value value;
      if (!parseType(w[2], &value.type)) return bad();
      value.shape = parseShape(w[3]);
      const std::string hex = w.size() > 4 ? w[4] : "";
      value.missing = hex == "-";
      for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
        value.bytes.push_back(static_cast<unsigned char>(std::strtol(hex.substr(i, 2).c_str(), nullptr, 16)));
      // a stripped weight is nothing but zeros
      if (value.missing) value.bytes.resize(static_cast<std::size_t>(bytesFor(value.type, value.shape)));
      if (!value.missing && static_cast<std::int64_t>(value.bytes.size()) != bytesFor(value.type, value.shape))
        return bad();
      out->constants[decodeName(w[1])] = std::move(value);
    } else if (w[0] == "op" && w.size() >= 4) {
      Op op;
      op.type = w[1];
      if (!knownOp(op.type)) return "unknown operation '" + op.type + "'";
      op.outputs = names(w[2]);
      op.inputs = names(w[3]);
      for (std::size_t i = 4; i < w.size(); ++i) {
        const auto equals = w[i].find('=');
        if (equals == std::string::npos) return bad();
        op.attributes[w[i].substr(0, equals)] = w[i].substr(equals + 1);
      }
      if (op.outputs.size() != 1) return bad();
      out->ops.push_back(std::move(op));
    } else {
      return bad();
    }
  }
  if (out->profiles.empty()) out->profiles.resize(1);
  return "";
}

std::string printProgram(const Program& program, bool weights) {
  std::ostringstream out;
  out << "name " << encodeName(program.name) << "\naux " << program.aux << "\nmemory " << printShape(program.memories)
      << "\nweights " << program.weights << "\ncompute " << program.compute << "\nverbosity " << program.verbosity
      << "\nrefit " << static_cast<int>(program.refit) << '\n';
  if (!program.plugin.empty()) out << "plugin " << encodeName(program.plugin) << '\n';
  if (program.hostCode) out << "hostcode 1\n";
  if (program.temporary > 0) out << "temporary " << program.temporary << '\n';
  if (program.persistent > 0) out << "persistent " << program.persistent << '\n';
  for (const auto& [output, input] : program.aliases)
    out << "alias " << encodeName(output) << ' ' << encodeName(input) << '\n';
  for (const auto& p : program.ports)
    out << (p.input ? "input " : "output ") << encodeName(p.name) << ' ' << typeName(p.type) << ' '
        << printShape(p.shape) << ' ' << (p.host ? "host " : "device ") << p.format << ' ' << p.vectorDim << ' '
        << p.components << '\n';
  for (std::size_t i = 0; i < program.profiles.size(); ++i) {
    for (const auto& [name, r] : program.profiles[i].dims)
      out << "dims " << i << ' ' << encodeName(name) << ' ' << printShape(r.min) << ' ' << printShape(r.opt) << ' '
          << printShape(r.max) << '\n';
    for (const auto& [name, r] : program.profiles[i].values)
      out << "values " << i << ' ' << encodeName(name) << ' ' << printShape(r.min) << ' ' << printShape(r.opt) << ' '
          << printShape(r.max) << '\n';
  }
  for (const auto& [name, value] : program.constants) {
    std::string hex;
    char pair[3];
    if (value.missing || (!weights && program.isWeight(name)))
      hex = "-";
    else
      for (const auto byte : value.bytes) std::snprintf(pair, sizeof pair, "%02x", byte), hex += pair;
    out << "const " << encodeName(name) << ' ' << typeName(value.type) << ' ' << printShape(value.shape) << ' ' << hex
        << '\n';
  }
  const auto list = [](const std::vector<std::string>& all) {
    std::string text;
    for (const auto& each : all) text += (text.empty() ? "" : ",") + encodeName(each);
    return text.empty() ? std::string(".") : text;
  };
  for (const auto& op : program.ops) {
    out << "op " << op.type << ' ' << list(op.outputs) << ' ' << list(op.inputs);
    for (const auto& [key, value] : op.attributes) out << ' ' << key << '=' << value;
    out << '\n';
  }
  return out.str();
}

std::string wrapPlan(const std::string& body, int major, int minor, int patch, int build) {
  std::string out(32, '\0');
  std::uint64_t hash = 14695981039346656037ull;
  for (const unsigned char c : body) hash = (hash ^ c) * 1099511628211ull;
  const std::uint64_t size = 32 + body.size();
  std::memcpy(&out[0], major == 1 ? "vtrt" : "ftrt", 4);  // 1: TensorRT-RTX
  std::memcpy(&out[8], &hash, 8);
  std::memcpy(&out[16], &size, 8);
  out[24] = static_cast<char>(major), out[25] = static_cast<char>(minor), out[26] = static_cast<char>(patch);
  out[27] = static_cast<char>(build);
  return out + body;
}

std::string inferShapes(const Program& program, const Shapes& inputs, const Values& known, Shapes* out,
                        Shapes* largest) {
  *out = inputs;
  Shapes bounds = inputs;
  Values values = known;
  for (const auto& [name, value] : program.constants) (*out)[name] = bounds[name] = value.shape, values[name] = value;
  for (const auto& op : program.ops) {
    std::vector<const Shape*> shapes, limits;
    std::vector<const Value*> data;
    for (const auto& name : op.inputs) {
      const auto shape = out->find(name);
      if (shape == out->end()) return op.type + ": no tensor '" + name + "'";
      shapes.push_back(&shape->second);
      limits.push_back(&bounds[name]);
      const auto value = values.find(name);
      data.push_back(value == values.end() ? nullptr : &value->second);
    }
    Shape shape, bound, unused;
    if (auto wrong = inferOp(op, shapes, data, &shape, &unused); !wrong.empty()) return wrong;
    if (auto wrong = inferOp(op, limits, data, &unused, &bound); !wrong.empty()) return wrong;
    (*out)[op.outputs[0]] = shape;
    bounds[op.outputs[0]] = bound;
  }
  if (largest) *largest = std::move(bounds);
  return "";
}

std::string evaluate(const Program& program, Values* values) {
  for (const auto& [name, value] : program.constants) values->emplace(name, value);
  for (const auto& op : program.ops) {
    std::vector<const Value*> inputs;
    for (const auto& name : op.inputs) {
      const auto found = values->find(name);
      if (found == values->end()) return op.type + ": no tensor '" + name + "'";
      inputs.push_back(&found->second);
    }
    Value out;
    if (auto wrong = runOp(op, inputs, &out); !wrong.empty()) return wrong;
    (*values)[op.outputs[0]] = std::move(out);
  }
  return "";
}

}  // namespace fake
