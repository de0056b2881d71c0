// Frames of a video from a pipe: what is written arrives, the writer waits, and a reader ends at any moment.
#include <unistd.h>

#include <optional>
#include <random>
#include <thread>

#include "../../../native/base/error.h"
#include "../../../native/video/frame_reader.h"
#include "../support/test.h"

namespace {

using nt::video::FrameReader;
using Data = std::vector<uint8_t>;

constexpr uint32_t kWidth = 6, kHeight = 3;
constexpr std::size_t kFrame = kWidth * kHeight + 2 * 3 * 2;

void put(Data& data, const Data& more) { data.insert(data.end(), more.begin(), more.end()); }

Data varint(uint64_t value) {
  Data bytes{static_cast<uint8_t>(value & 0x7F)};
  while ((value >>= 7) != 0) bytes.insert(bytes.begin(), static_cast<uint8_t>(value | 0x80));
  return bytes;
}

// Bit by bit, from its definition.
Data checksum(const Data& data) {
  uint32_t value = 0;
  for (const uint8_t byte : data) {
    for (int bit = 7; bit >= 0; --bit) {
      const bool top = ((value >> 31) ^ ((byte >> bit) & 1U)) != 0;
      value = (value << 1) ^ (top ? 0x04C11DB7U : 0U);
    }
  }
  return {static_cast<uint8_t>(value >> 24), static_cast<uint8_t>(value >> 16), static_cast<uint8_t>(value >> 8),
          static_cast<uint8_t>(value)};
}

Data packet(uint64_t startcode, const Data& body) {
  Data all;
  for (int shift = 56; shift >= 0; shift -= 8) all.push_back(static_cast<uint8_t>(startcode >> shift));
  put(all, varint(body.size() + 4));
  put(all, body);
  put(all, checksum(body));
  return all;
}

Data numbers(std::initializer_list<uint64_t> values) {
  Data all;
  for (const uint64_t value : values) put(all, varint(value));
  return all;
}

// As the specification has it: one code for all frames, with all fields of their headers.
Data headers() {
  const std::string id("nut/multimedia container\0", 25);
  Data all(id.begin(), id.end());
  // version, streams, distance, time bases: 1/1000; flags coded, pts and size; six fields, of which the count is last
  put(all, packet(0x4E4D7A561F5F04AD, numbers({3, 1, 32767, 1, 1, 1000, 8 | 32, 6, 0, 1, 0, 0, 0, 255, 0})));
  Data stream = numbers({0, 0, 4});
  put(stream, {'I', '4', '2', '0'});
  put(stream, numbers({0, 7, 1000, 0, 0, 0, kWidth, kHeight, 0, 0, 0}));
  put(all, packet(0x4E5311405BF2F9DB, stream));
  return all;
}

Data frame(uint64_t number) {
  Data all = packet(0x4E4BE4ADEECA4569, numbers({number * 40, 0}));
  all.push_back(0);
  put(all, numbers({(number * 40) + 128, kFrame}));  // 128: the whole time stamp stands there
  for (std::size_t i = 0; i < kFrame; ++i) all.push_back(static_cast<uint8_t>(number + i));
  return all;
}

Data videoOf(uint64_t frames) {
  Data all = headers();
  for (uint64_t i = 0; i < frames; ++i) put(all, frame(i));
  put(all, packet(0x4E58DD672F23E64E, numbers({1, 2, 3})));
  return all;
}

// As much as goes.
std::size_t writeTo(int pipe, const Data& data) {
  std::size_t written = 0;
  while (written < data.size()) {
    const ssize_t got = ::write(pipe, data.data() + written, data.size() - written);
    if (got <= 0) break;
    written += static_cast<std::size_t>(got);
  }
  return written;
}

std::string errorCode(const std::function<void()>& body) {
  try {
    body();
    return "";
  } catch (const nt::Error& error) {
    return error.code();
  }
}

bool isRight(const FrameReader::Frame& each, std::size_t number) {
  bool right = each.pts == static_cast<int64_t>(number) * 40 && each.size == kFrame;
  for (std::size_t i = 0; i < each.size; ++i) right = right && each.data.get()[i] == static_cast<uint8_t>(number + i);
  return right;
}

}  // namespace

TEST("video: frames arrive as they were written") {
  FrameReader reader(1 << 20);
  CHECK_EQ(writeTo(reader.writeEnd(), videoOf(100)), videoOf(100).size());
  std::vector<FrameReader::Frame> frames;
  nt::video::NutStream stream;
  const bool whole =
      reader.run({[&](const auto& each) { stream = each; }, [&](auto each) { frames.push_back(each); }, [] {}});
  CHECK(whole);
  CHECK_EQ(stream.width, kWidth);
  CHECK_EQ(stream.height, kHeight);
  CHECK_EQ(stream.den / stream.num, 1000U);
  CHECK_EQ(frames.size(), 100U);
  bool right = true;
  for (std::size_t i = 0; i < frames.size(); ++i) right = right && isRight(frames[i], i);
  CHECK(right);
  CHECK_EQ(reader.used(), 100 * kFrame);
  frames.clear();
  CHECK_EQ(reader.used(), 0U);
}

TEST("video: a reader waits for room, and for nothing once it is stopped") {
  FrameReader reader(3 * kFrame);
  (void)writeTo(reader.writeEnd(), videoOf(50));
  std::mutex mutex;
  nt::Condition changed;
  std::vector<FrameReader::Frame> frames;
  bool whole = true;
  std::thread thread([&] {
    whole = reader.run({[](const auto&) {},
                        [&](auto each) {
                          const std::lock_guard lock(mutex);
                          frames.push_back(std::move(each));
                          changed.notify_all();
                        }});
  });
  const auto await = [&](std::size_t count) {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return frames.size() >= count; });
  };
  await(3);
  CHECK_EQ(reader.used(), 3 * kFrame);
  reader.want();  // one more, though there is no room
  await(4);
  {
    const std::lock_guard lock(mutex);
    CHECK_EQ(frames.size(), 4U);
    frames.erase(frames.begin(), frames.begin() + 2);
  }
  await(3);
  reader.stop();
  reader.stop();
  thread.join();
  CHECK(!whole);
  CHECK(frames.size() < 50);
}

TEST("video: a reader that waits for the pipe is stopped") {
  FrameReader reader(1 << 20);
  const int other = ::dup(reader.writeEnd());  // somebody may still write
  Data part = videoOf(3);
  part.resize(part.size() / 2);
  (void)writeTo(other, part);
  bool whole = true;
  std::thread thread([&] { whole = reader.run({[](const auto&) {}, [](auto) {}}); });
  reader.stop();
  thread.join();
  ::close(other);
  CHECK(!whole);
}

TEST("video: bytes that are cut short or changed give an error") {
  const Data whole = videoOf(5);
  std::mt19937 random(7);
  int failed = 0;
  for (int i = 0; i < 3000; ++i) {
    Data data = whole;
    if (i % 2 == 0) {
      data.resize(random() % data.size());
    } else {
      for (int j = 0; j < 3; ++j) data[random() % 200] = static_cast<uint8_t>(random());
    }
    FrameReader reader(1 << 20);
    (void)writeTo(reader.writeEnd(), data);
    const std::string code = errorCode([&] { (void)reader.run({[](const auto&) {}, [](auto) {}}); });
    if (!code.empty()) {
      ++failed;
      CHECK_EQ(code, std::string("ERR_TRT_VIDEO_DATA"));
    }
  }
  CHECK(failed > 2500);
}

TEST("video: all readers have one limit, and what is wanted goes over it") {
  nt::video::FrameLimit limit(10);
  nt::video::FrameBudget first(8, limit), second(8, limit);
  CHECK(first.tryTake(8));
  CHECK(!first.tryTake(1));
  CHECK(second.tryTake(2));
  CHECK(!second.tryTake(1));
  CHECK_EQ(limit.used(), 10U);
  second.want();
  CHECK(second.tryTake(1));
  CHECK(!second.tryTake(1));
  CHECK_EQ(limit.used(), 11U);
  bool taken = true;
  std::thread thread([&] { taken = second.take(4); });
  first.giveBack(8);  // there is room now
  thread.join();
  CHECK(taken);
  CHECK_EQ(second.used(), 7U);
  limit.setMost(3);
  CHECK(!first.tryTake(1));
  std::thread other([&] { taken = first.take(1); });
  first.end();
  other.join();
  CHECK(!taken);
  CHECK(first.over());
  second.giveBack(7);
  CHECK_EQ(limit.used(), 0U);
}

TEST("video: a reader that drops is never waited for, and keeps the newest frame") {
  nt::video::FrameLimit limit;
  FrameReader reader(2 * kFrame, FrameReader::WhenFull::drop, limit);
  CHECK_EQ(writeTo(reader.writeEnd(), videoOf(50)), videoOf(50).size());
  int calls = 0;
  CHECK(!reader.want());
  std::optional<FrameReader::Frame> first;
  const bool whole = reader.run({[](const auto&) {}, [](auto) {},
                                 [&] {
                                   ++calls;
                                   first = reader.takeNewest();
                                 }});
  CHECK(whole);
  CHECK_EQ(calls, 1);
  CHECK(first && isRight(*first, 0) && first->number == 0);
  CHECK(reader.want());
  const std::optional<FrameReader::Frame> last = reader.takeNewest();
  CHECK(last && isRight(*last, 49) && last->number == 49);
  CHECK(last && first && last->arrived >= first->arrived);
  CHECK_EQ(reader.dropped(), 48U);
  CHECK_EQ(reader.used(), 2 * kFrame);
}

TEST("video: a reader that drops passes over frames for which there is no memory") {
  nt::video::FrameLimit limit(kFrame);
  nt::video::FrameBudget other(kFrame, limit);
  CHECK(other.tryTake(kFrame));
  FrameReader reader(10 * kFrame, FrameReader::WhenFull::drop, limit);
  (void)writeTo(reader.writeEnd(), videoOf(20));
  CHECK(reader.run({[](const auto&) {}, [](auto) {}, [] {}}));
  CHECK_EQ(reader.dropped(), 20U);
  CHECK(!reader.takeNewest());
  CHECK_EQ(reader.used(), 0U);
  other.giveBack(kFrame);
}
