// What is painted on a picture: hidden regions, lines and labels, masks. On a copy, which is made on the thread, too,
// or where the picture lies.
#include <array>
#include <cmath>
#include <cstring>

#include "../vision/blend.h"
#include "../vision/draw.h"
#include "../vision/overlay.h"
#include "exports.h"
#include "pictures.h"
#include "pinned.h"
#include "pixels.h"

namespace nt::node {
namespace {

using vision::Canvas;

// A copy of the numbers: few, and JavaScript's may change meanwhile.
std::vector<double> numbersAt(const Napi::CallbackInfo& info, std::size_t index, const char* name) {
  const Bytes bytes = viewOf(info[index], name);
  std::vector<double> numbers(bytes.size / sizeof(double));
  if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data, numbers.size() * sizeof(double));
  return numbers;
}

// All of these functions begin with (picture), and give the bytes of a copy, or nothing where they paint in place.
class Job {
 public:
  explicit Job(const Napi::CallbackInfo& info) : work_(info.Env()) {
    const Napi::Object given = fromJs<Napi::Object>(info[0], "picture");
    picture_ = pictureOf(work_, given);
    inPlace_ = property<bool>(given, "inPlace");
    if (inPlace_ && !vision::isPaintable(picture_.format)) throwExpected("a picture of 8 bits, to be painted in place");
    const bool isPlain =
        picture_.format == vision::Format::rgb && picture_.stride == vision::rowBytes(picture_.format, picture_.width);
    if (!inPlace_ && !isPlain) throwExpected("RGB without gaps between rows, of which a copy is made");
    width = picture_.width;
    height = picture_.height;
  }

  PixelWork::View view(const Napi::Value& value, const char* name) { return work_.view(value, name); }

  // A view of so many bytes for each pixel.
  const uint8_t* sized(const Napi::Value& value, const char* name, int64_t bytes) {
    const PixelWork::View view = work_.view(value, name);
    if (view.size != static_cast<std::size_t>(width * height * bytes))
      throwExpected("as many bytes as the size wants", name);
    return view.data;
  }

  // draw(surface), which is a template.
  template <class Draw>
  Napi::Value paint(const Draw& draw) {
    if (!inPlace_) {
      return copy(3, [draw](const uint8_t* pixels, Canvas& canvas) {
        canvas.copyFrom(pixels);
        vision::Packed<3> surface(canvas);
        draw(surface);
      });
    }
    PinnedCall call;
    const std::size_t bytes = vision::pictureBytes(picture_.format, picture_.width, picture_.height, picture_.stride);
    std::shared_ptr<void> lease = leasePinned(picture_.data, bytes, call, Access::write);
    // what JavaScript handed over to be written; pictures that are read are constant
    uint8_t* const data = const_cast<uint8_t*>(picture_.data);
    return work_.run([picture = picture_, data, draw, lease]() mutable {
      vision::paintOn(picture, data, draw);
      lease.reset();
    });
  }

  // draw(pixels, canvas) that fills a canvas of so many channels.
  template <class Draw>
  Napi::Value copy(int channels, const Draw& draw) {
    const auto canvas = std::make_shared<Canvas>(width, height, channels);
    return work_.run([canvas, draw, pixels = picture_.data] { draw(pixels, *canvas); },
                     [canvas](Napi::Env env) { return externalBuffer(env, canvas->data(), canvas->size(), canvas); });
  }

  int64_t width, height;

 private:
  PixelWork work_;
  vision::Picture picture_;
  bool inPlace_;
};

// Numbers that all arithmetic with sizes of pictures stands.
void checkWithin(const std::vector<double>& numbers, const char* name) {
  for (const double number : numbers)
    if (!(std::abs(number) <= 4e9)) throwExpected("numbers within four billion", name);
}

uint8_t byteOf(double value) { return static_cast<uint8_t>(value >= 0 && value <= 255 ? value : 0); }

// [method, ellipse, strength, feather, red, green, blue]
vision::HideStyle hideStyleAt(const Napi::CallbackInfo& info, std::size_t index) {
  const std::vector<double> numbers = numbersAt(info, index, "style");
  if (numbers.size() != 7) throwExpected("seven numbers", "style");
  const auto isShare = [](double value) { return value >= 0 && value <= 1000; };  // of a region's sides
  if (!isShare(numbers[2])) throwExpected("a number from 0 to 1000", "strength");
  if (!isShare(numbers[3])) throwExpected("a number from 0 to 1000", "feather");
  vision::HideStyle style;
  style.method = static_cast<vision::Method>(byteOf(numbers[0]) % 3);
  style.ellipse = numbers[1] != 0;
  style.strength = numbers[2];
  style.feather = numbers[3];
  style.color = {byteOf(numbers[4]), byteOf(numbers[5]), byteOf(numbers[6])};
  return style;
}

// hideRegions(picture, regions, style): regions of [left, top, right, bottom], one after the other
Napi::Value hideRegions(const Napi::CallbackInfo& info) {
  Job job(info);
  const std::vector<double> regions = numbersAt(info, 1, "regions");
  checkWithin(regions, "regions");
  return job.paint([regions, style = hideStyleAt(info, 2)](auto& surface) {
    for (std::size_t i = 0; i + 4 <= regions.size(); i += 4)
      vision::hideRegion(surface, {regions[i], regions[i + 1], regions[i + 2], regions[i + 3]}, style);
  });
}

// [left, top, right, bottom] within the picture, and a mask with a T for each of its pixels.
template <class T>
vision::Placed<T> placedAt(Job& job, const Napi::CallbackInfo& info, std::size_t mask, std::size_t area) {
  const std::vector<double> numbers = numbersAt(info, area, "area");
  const auto [width, height] = std::array{static_cast<double>(job.width), static_cast<double>(job.height)};
  const bool isWithin = numbers.size() == 4 && numbers[0] >= 0 && numbers[1] >= 0 && numbers[0] < numbers[2] &&
                        numbers[1] < numbers[3] && numbers[2] <= width && numbers[3] <= height;
  if (!isWithin) throwExpected("[left, top, right, bottom] within the picture", "area");
  const auto whole = [&](std::size_t i) { return static_cast<int64_t>(numbers[i]); };
  const vision::Area placed{whole(0), whole(1), whole(2), whole(3)};
  const PixelWork::View view = job.view(info[mask], "mask");
  if (view.size != static_cast<std::size_t>(placed.width() * placed.height()) * sizeof(T))
    throwExpected("as many values as the area has pixels", "mask");
  return {reinterpret_cast<const T*>(view.data), placed};
}

// hideMask(picture, mask, area, style)
Napi::Value hideMask(const Napi::CallbackInfo& info) {
  Job job(info);
  const auto mask = placedAt<uint8_t>(job, info, 1, 2);
  return job.paint([mask, style = hideStyleAt(info, 3)](auto& surface) { vision::hideMask(surface, mask, style); });
}

// overlayMask(picture, mask, area, palette, opacity)
Napi::Value overlayMask(const Napi::CallbackInfo& info) {
  Job job(info);
  const auto mask = placedAt<uint8_t>(job, info, 1, 2);
  const Bytes colors = viewOf(info[3], "palette");
  vision::Palette palette;
  if (colors.size != palette.size()) throwExpected("256 colours", "palette");
  std::memcpy(palette.data(), colors.data, colors.size);
  const double opacity = fromJs<double>(info[4], "opacity");
  if (!(opacity >= 0 && opacity <= 1)) throwExpected("a number from 0 to 1", "opacity");
  return job.paint(
      [mask, palette, opacity](auto& surface) { vision::overlayClasses(surface, mask, palette, opacity); });
}

// cutOut(picture, mask, area, background): no bytes, those of a colour, or those of a picture
template <class T>
Napi::Value cutOutBy(const Napi::CallbackInfo& info) {
  Job job(info);
  const auto mask = placedAt<T>(job, info, 1, 2);
  const PixelWork::View behind = job.view(info[3], "background");
  vision::Background background;
  if (behind.size == 3) {
    std::memcpy(background.color.data(), behind.data, 3);
  } else if (behind.size != 0) {
    background.picture = job.sized(info[3], "background", 3);
  }
  return job.copy(behind.size == 0 ? 4 : 3, [mask, background](const uint8_t* pixels, Canvas& canvas) {
    vision::cutOut(canvas, pixels, mask, background);
  });
}
Napi::Value cutOut(const Napi::CallbackInfo& info) {
  const bool isFloat = info[1].IsTypedArray() && info[1].As<Napi::TypedArray>().TypedArrayType() == napi_float32_array;
  return isFloat ? cutOutBy<float>(info) : cutOutBy<uint8_t>(info);
}

struct Tiles {
  const uint8_t* data;
  std::size_t size;
};

// One of drawStrokes(): see lib/backend/native-vision.ts. Tiles that do not lie within the bytes that were given are
// passed over.
template <class Surface>
void drawStroke(Surface& surface, const double* stroke, const Tiles& tiles) {
  enum Kind : uint8_t { frame, rectangle, line, tile };
  const auto [a, b, c, d, e] = std::array{stroke[1], stroke[2], stroke[3], stroke[4], stroke[5]};
  const vision::Color color{byteOf(stroke[6]), byteOf(stroke[7]), byteOf(stroke[8])};
  switch (byteOf(stroke[0])) {
    case frame:
      return vision::drawFrame(surface, {a, b, c, d}, e, color);
    case rectangle:
      return vision::fillRectangle(surface, {a, b, c, d}, color);
    case line:
      return vision::drawLine(surface, {a, b, c, d}, e, color);
    case tile: {
      const auto [width, height, offset] =
          std::array{static_cast<int64_t>(c), static_cast<int64_t>(d), static_cast<int64_t>(e)};
      if (width < 1 || height < 1 || offset < 0 || offset + width * height * 4 > static_cast<int64_t>(tiles.size))
        return;
      return vision::drawTile(surface, static_cast<int64_t>(a), static_cast<int64_t>(b),
                              {tiles.data + offset, width, height});
    }
    default:
      return;
  }
}

// drawStrokes(picture, strokes, tiles)
Napi::Value drawStrokes(const Napi::CallbackInfo& info) {
  Job job(info);
  const std::vector<double> strokes = numbersAt(info, 1, "strokes");
  checkWithin(strokes, "strokes");
  const PixelWork::View tiles = job.view(info[2], "tiles");
  return job.paint([strokes, tiles = Tiles{tiles.data, tiles.size}](auto& surface) {
    for (std::size_t i = 0; i + 9 <= strokes.size(); i += 9) drawStroke(surface, &strokes[i], tiles);
  });
}

}  // namespace

void exportStrokes(Napi::Object exports) {
  setFunctions(exports, {{"hideRegions", guarded<hideRegions>},
                         {"cutOut", guarded<cutOut>},
                         {"drawStrokes", guarded<drawStrokes>},
                         {"hideMask", guarded<hideMask>},
                         {"overlayMask", guarded<overlayMask>}});
}

}  // namespace nt::node
