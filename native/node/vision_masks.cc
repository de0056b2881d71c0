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
#include "errors.h"
#include "exports.h"
#include "pixels.h"
#include "values.h"

namespace nt::node {
namespace {

int64_t lengthOf(const Napi::Object& object, const char* key, int64_t most = kMostAlong) {
  const int64_t value = integerOf(object, key, 0);
  if (value < 0 || value > most) refuse(std::string("a length for ") + key);
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
    refuse(std::string("taps within the values for ") + key);
  return axis;
}

vision::MaskValues valuesOf(PixelWork& work, const Napi::Object& job) {
  const int64_t width = lengthOf(job, "width"), height = lengthOf(job, "height"),
                channels = lengthOf(job, "channels", 256);
  if (width < 1 || height < 1 || channels < 1) refuse("values");
  const bool planar = integerOf(job, "planar", 1) != 0;
  vision::MaskValues values;
  values.data = work.array<const float>(job, "values", static_cast<std::size_t>(width * height * channels));
  values.width = static_cast<int32_t>(width);
  values.height = static_cast<int32_t>(height);
  values.channels = static_cast<int32_t>(channels);
  values.columnStep = static_cast<std::size_t>(planar ? 1 : channels);
  values.rowStep = values.columnStep * static_cast<std::size_t>(width);
  values.channelStep = static_cast<std::size_t>(planar ? width * height : 1);
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

  void write(const vision::MaskValues& values) const {
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
  if (stride < count) refuse("a stride of whole rows");
  output.out = work.array<uint8_t>(job, "out", static_cast<std::size_t>((lines - 1) * stride + count));
  output.stride = static_cast<std::size_t>(stride);
  return output;
}

// makeMask(job, sync): see NativeMask in lib/backend/native-vision.ts
Napi::Value makeMask(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    const Napi::Object job = objectArgument(info, 0, "job");
    PixelWork work(info.Env());
    const vision::MaskValues values = valuesOf(work, job);
    const Output output = outputOf(work, job, values.width, values.height);
    return work.run(info[1].ToBoolean(), [values, output] {
      if (!output.isEmpty) output.write(values);
    });
  });
}

vision::Prototypes prototypesOf(PixelWork& work, const Napi::Object& job) {
  const int64_t width = lengthOf(job, "width"), height = lengthOf(job, "height"), count = lengthOf(job, "count", 65536);
  const int64_t left = lengthOf(job, "left"), top = lengthOf(job, "top");
  const int64_t across = lengthOf(job, "across"), down = lengthOf(job, "down");
  if (across < 1 || down < 1 || left + across > width || top + down > height) refuse("a part of the prototypes");
  if (width * height > (int64_t{1} << 31)) refuse("prototypes of at most 2147483648 values");
  vision::Prototypes prototypes;
  prototypes.data = work.array<const float>(job, "prototypes", static_cast<std::size_t>(width * height * count));
  prototypes.width = static_cast<int32_t>(width);
  prototypes.height = static_cast<int32_t>(height);
  prototypes.count = static_cast<int32_t>(count);
  prototypes.left = static_cast<int32_t>(left);
  prototypes.top = static_cast<int32_t>(top);
  prototypes.across = static_cast<int32_t>(across);
  prototypes.down = static_cast<int32_t>(down);
  return prototypes;
}

// makeInstanceMask(job, sync): see NativeInstanceMask in lib/backend/native-vision.ts
Napi::Value makeInstanceMask(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    const Napi::Object job = objectArgument(info, 0, "job");
    PixelWork work(info.Env());
    const vision::Prototypes prototypes = prototypesOf(work, job);
    const auto* coefficients = work.array<const float>(job, "coefficients", static_cast<std::size_t>(prototypes.count));
    const Output output = outputOf(work, job, prototypes.across, prototypes.down);
    return work.run(info[1].ToBoolean(), [prototypes, coefficients, output] {
      if (output.isEmpty) return;
      const auto across = static_cast<std::size_t>(prototypes.across), down = static_cast<std::size_t>(prototypes.down);
      std::vector<float> values(across * down);
      vision::combine(prototypes, coefficients, values.data());
      output.write({values.data(), prototypes.across, prototypes.down, 1, 1, across, 0});
    });
  });
}

// Seven numbers for each part.
Napi::Value partsValue(Napi::Env env, const std::vector<vision::Component>& parts) {
  Napi::Float64Array numbers = Napi::Float64Array::New(env, parts.size() * 7);
  double* number = numbers.Data();
  for (const vision::Component& part : parts) {
    const double values[] = {static_cast<double>(part.area),
                             static_cast<double>(part.left),
                             static_cast<double>(part.top),
                             static_cast<double>(part.right - part.left),
                             static_cast<double>(part.bottom - part.top),
                             part.sumX,
                             part.sumY};
    number = std::copy(std::begin(values), std::end(values), number);
  }
  return numbers;
}

// labelComponents(job, sync): see NativeComponents in lib/backend/native-vision.ts
Napi::Value labelComponents(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    const Napi::Object job = objectArgument(info, 0, "job");
    PixelWork work(info.Env());
    const int64_t width = lengthOf(job, "width"), height = lengthOf(job, "height");
    if (width * height > INT32_MAX) refuse("a mask of at most 2147483647 pixels");
    vision::MaskPixels mask;
    mask.data = work.array<const uint8_t>(job, "data", static_cast<std::size_t>(width * height));
    mask.width = static_cast<int32_t>(width);
    mask.height = static_cast<int32_t>(height);
    mask.only = static_cast<int32_t>(std::clamp<int64_t>(integerOf(job, "only", -1), -1, 255));
    auto* labels = work.array<int32_t>(job, "labels", static_cast<std::size_t>(width * height));
    const bool diagonal = integerOf(job, "diagonal", 1) != 0;
    const auto parts = std::make_shared<std::vector<vision::Component>>();
    return work.run(
        info[1].ToBoolean(),
        [mask, labels, diagonal, parts] { *parts = vision::labelComponents(mask, diagonal, labels); },
        [parts](Napi::Env env) { return partsValue(env, *parts); });
  });
}

Napi::Value numbersValue(Napi::Env env, const std::vector<int32_t>& numbers) {
  Napi::Int32Array value = Napi::Int32Array::New(env, numbers.size());
  std::copy(numbers.begin(), numbers.end(), value.Data());
  return value;
}

// traceOutlines(job, sync): see lib/backend/native-vision.ts
Napi::Value traceOutlines(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    const Napi::Object job = objectArgument(info, 0, "job");
    PixelWork work(info.Env());
    const int64_t width = lengthOf(job, "width"), height = lengthOf(job, "height");
    const auto* labels = work.array<const int32_t>(job, "labels", static_cast<std::size_t>(width * height));
    const bool diagonal = integerOf(job, "diagonal", 1) != 0;
    const auto found = std::make_shared<vision::Outlines>();
    return work.run(
        info[1].ToBoolean(),
        [labels, width, height, diagonal, found] {
          *found = vision::traceOutlines(labels, static_cast<int32_t>(width), static_cast<int32_t>(height), diagonal);
        },
        [found](Napi::Env env) -> Napi::Value {
          const Napi::Object value = Napi::Object::New(env);
          value.Set("rings", numbersValue(env, found->rings));
          value.Set("points", numbersValue(env, found->points));
          return value;
        });
  });
}

}  // namespace

void exportVisionMasks(Napi::Env env, Napi::Object exports) {
  exports.Set("makeMask", Napi::Function::New(env, makeMask, "makeMask"));
  exports.Set("makeInstanceMask", Napi::Function::New(env, makeInstanceMask, "makeInstanceMask"));
  exports.Set("labelComponents", Napi::Function::New(env, labelComponents, "labelComponents"));
  exports.Set("traceOutlines", Napi::Function::New(env, traceOutlines, "traceOutlines"));
}

}  // namespace nt::node
