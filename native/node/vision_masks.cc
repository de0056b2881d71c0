// makeMask(), makeInstanceMask(), labelComponents() and traceOutlines(): what models of segmentation mean. lib/vision
// checks what users give; here nothing may crash.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "../vision/components.h"
#include "../vision/masks.h"
#include "../vision/outlines.h"
#include "exports.h"
#include "pixels.h"

namespace nt::node {

using vision::MaskPixels;
using vision::MaskValues;
using vision::Prototypes;

template <>
inline constexpr auto fieldsOf<MaskValues> = std::tuple(
    Field("width", &MaskValues::width), Field("height", &MaskValues::height), Field("channels", &MaskValues::channels));
template <>
inline constexpr auto fieldsOf<Prototypes> =
    std::tuple(Field("width", &Prototypes::width), Field("height", &Prototypes::height),
               Field("count", &Prototypes::count), Field("left", &Prototypes::left), Field("top", &Prototypes::top),
               Field("across", &Prototypes::across), Field("down", &Prototypes::down));
template <>
inline constexpr auto fieldsOf<MaskPixels> = std::tuple(
    Field("width", &MaskPixels::width), Field("height", &MaskPixels::height), Field("only", &MaskPixels::only));

namespace {

// As many elements as a plane of these sides has. Throws ERR_TRT_INVALID_ARGUMENT where that is no plane.
std::size_t areaOf(int64_t width, int64_t height) {
  if (width < 0 || width > kMostAlong || height < 0 || height > kMostAlong) throwExpected("a width and a height");
  return static_cast<std::size_t>(width * height);
}

int64_t lengthOf(const Napi::Object& object, const char* key, int64_t most = kMostAlong) {
  const int64_t value = property<int64_t>(object, key);
  if (value < 0 || value > most) throwExpected(std::string("a length for ") + key);
  return value;
}

// The taps are copied: they are few, and nobody can change them meanwhile.
struct OwnedAxis {
  std::vector<int32_t> first;
  std::vector<double> weights;
  int32_t last;

  vision::MaskAxis view() const { return {static_cast<int32_t>(first.size()), last, first.data(), weights.data()}; }
};

OwnedAxis maskAxisOf(PixelWork& work, const Napi::Object& job, const char* key, int64_t length) {
  const Napi::Object given = job.Get(key).As<Napi::Object>();
  const int64_t count = lengthOf(given, "count"), last = lengthOf(given, "last");
  const auto* first = work.array<int32_t>(given, "first", static_cast<std::size_t>(count));
  const auto* weights = work.array<double>(given, "weights", static_cast<std::size_t>(count));
  OwnedAxis axis{{first, first + count}, {weights, weights + count}, static_cast<int32_t>(last)};
  const auto inside = [&](int32_t tap) { return tap >= 0 && tap <= last; };
  if (count > 0 && (last >= length || !std::all_of(axis.first.begin(), axis.first.end(), inside)))
    throwExpected(std::string("taps within the values for ") + key);
  return axis;
}

MaskValues valuesOf(PixelWork& work, const Napi::Object& job) {
  auto values = fromJs<MaskValues>(job, "job");
  const std::size_t area = areaOf(values.width, values.height);
  if (area == 0 || values.channels < 1 || values.channels > 256) throwExpected("values");
  const auto channels = static_cast<std::size_t>(values.channels);
  const bool planar = property(job, "planar", true);
  values.data = work.array<const float>(job, "values", area * channels);
  values.columnStep = planar ? 1 : channels;
  values.rowStep = values.columnStep * static_cast<std::size_t>(values.width);
  values.channelStep = planar ? area : 1;
  return values;
}

vision::MaskRule maskRuleOf(const Napi::Object& job) {
  const Napi::Value threshold = job.Get("threshold");
  if (threshold.IsUndefined()) return {};
  return {true, threshold.ToNumber().DoubleValue()};
}

// Where a mask is written, and from which places of its values.
struct Output {
  std::shared_ptr<OwnedAxis> columns, rows;
  vision::MaskRule rule;
  uint8_t* out = nullptr;
  std::size_t stride = 0;
  bool isEmpty = false;

  void write(const MaskValues& values) const {
    vision::makeMask(values, columns->view(), rows->view(), rule, out, stride);
  }
};

Output outputOf(PixelWork& work, const Napi::Object& job, int64_t width, int64_t height) {
  Output output;
  output.columns = std::make_shared<OwnedAxis>(maskAxisOf(work, job, "columns", width));
  output.rows = std::make_shared<OwnedAxis>(maskAxisOf(work, job, "rows", height));
  output.rule = maskRuleOf(job);
  const auto count = static_cast<int64_t>(output.columns->first.size());
  const int64_t lines = static_cast<int64_t>(output.rows->first.size()), stride = lengthOf(job, "stride");
  output.isEmpty = count == 0 || lines == 0;
  if (output.isEmpty) return output;
  if (stride < count) throwExpected("a stride of whole rows");
  output.out = work.array<uint8_t>(job, "out", static_cast<std::size_t>((lines - 1) * stride + count));
  output.stride = static_cast<std::size_t>(stride);
  return output;
}

// makeMask(job): see NativeMask in lib/backend/native-vision.ts
Napi::Value makeMask(const Napi::CallbackInfo& info) {
  const Napi::Object job = fromJs<Napi::Object>(info[0], "job");
  PixelWork work(info.Env());
  const MaskValues values = valuesOf(work, job);
  const Output output = outputOf(work, job, values.width, values.height);
  return work.run([values, output] {
    if (!output.isEmpty) output.write(values);
  });
}

Prototypes prototypesOf(PixelWork& work, const Napi::Object& job) {
  auto planes = fromJs<Prototypes>(job, "job");
  const std::size_t area = areaOf(planes.width, planes.height);
  const auto isPart = [](int64_t from, int64_t size, int64_t whole) {
    return from >= 0 && size >= 1 && from + size <= whole;
  };
  if (!isPart(planes.left, planes.across, planes.width) || !isPart(planes.top, planes.down, planes.height))
    throwExpected("a part of the prototypes");
  if (area > (std::size_t{1} << 31)) throwExpected("prototypes of at most 2147483648 values");
  if (planes.count < 0 || planes.count > 65536) throwExpected("a length for count");
  planes.data = work.array<const float>(job, "prototypes", area * static_cast<std::size_t>(planes.count));
  return planes;
}

// makeInstanceMask(job): see NativeInstanceMask in lib/backend/native-vision.ts
Napi::Value makeInstanceMask(const Napi::CallbackInfo& info) {
  const Napi::Object job = fromJs<Napi::Object>(info[0], "job");
  PixelWork work(info.Env());
  const Prototypes prototypes = prototypesOf(work, job);
  const auto* coefficients = work.array<const float>(job, "coefficients", static_cast<std::size_t>(prototypes.count));
  const Output output = outputOf(work, job, prototypes.across, prototypes.down);
  return work.run([prototypes, coefficients, output] {
    if (output.isEmpty) return;
    const auto across = static_cast<std::size_t>(prototypes.across), down = static_cast<std::size_t>(prototypes.down);
    std::vector<float> values(across * down);
    vision::combine(prototypes, coefficients, values.data());
    output.write({values.data(), prototypes.across, prototypes.down, 1, 1, across, 0});
  });
}

// Seven numbers for each part.
std::vector<double> numbersOf(const std::vector<vision::Component>& parts) {
  std::vector<double> numbers;
  for (const vision::Component& part : parts) {
    const double values[] = {static_cast<double>(part.area),
                             static_cast<double>(part.left),
                             static_cast<double>(part.top),
                             static_cast<double>(part.right - part.left),
                             static_cast<double>(part.bottom - part.top),
                             part.sumX,
                             part.sumY};
    numbers.insert(numbers.end(), std::begin(values), std::end(values));
  }
  return numbers;
}

// labelComponents(job, sync): see NativeComponents in lib/backend/native-vision.ts
Napi::Value labelComponents(const Napi::CallbackInfo& info) {
  const Napi::Object job = fromJs<Napi::Object>(info[0], "job");
  PixelWork work(info.Env());
  auto mask = fromJs<MaskPixels>(job, "job");
  const std::size_t area = areaOf(mask.width, mask.height);
  if (area > INT32_MAX) throwExpected("a mask of at most 2147483647 pixels");
  mask.only = std::clamp(mask.only, -1, 255);
  mask.data = work.array<const uint8_t>(job, "data", area);
  auto* labels = work.array<int32_t>(job, "labels", area);
  const bool diagonal = property(job, "diagonal", true);
  const auto parts = std::make_shared<std::vector<vision::Component>>();
  return work.run(
      info[1].ToBoolean(),
      [mask, labels, diagonal, parts] { *parts = vision::labelComponents(mask, diagonal, labels); },
      [parts](Napi::Env env) { return toJs(env, numbersOf(*parts)); });
}

// traceOutlines(job): see lib/backend/native-vision.ts
Napi::Value traceOutlines(const Napi::CallbackInfo& info) {
  const Napi::Object job = fromJs<Napi::Object>(info[0], "job");
  PixelWork work(info.Env());
  const int64_t width = lengthOf(job, "width"), height = lengthOf(job, "height");
  const auto* labels = work.array<const int32_t>(job, "labels", static_cast<std::size_t>(width * height));
  const bool diagonal = property(job, "diagonal", true);
  const auto found = std::make_shared<vision::Outlines>();
  return work.run(
      [labels, width, height, diagonal, found] {
        *found = vision::traceOutlines(labels, static_cast<int32_t>(width), static_cast<int32_t>(height), diagonal);
      },
      [found](Napi::Env env) { return objectOf(env, Field("rings", found->rings), Field("points", found->points)); });
}

}  // namespace

void exportVisionMasks(Napi::Object exports) {
  setFunctions(exports, {{"makeMask", guarded<makeMask>},
                         {"makeInstanceMask", guarded<makeInstanceMask>},
                         {"labelComponents", guarded<labelComponents>},
                         {"traceOutlines", guarded<traceOutlines>}});
}

}  // namespace nt::node
