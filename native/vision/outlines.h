// The outlines of a mask's connected parts, along the edges of pixels.
#pragma once

#include <cstdint>
#include <vector>

namespace nt::vision {

struct Outlines {
  std::vector<int32_t> rings;   // of each its part's number, and how many points it has
  std::vector<int32_t> points;  // x and y of each, of one ring after the other
};

// Of labels as labelComponents() writes them. A ring has the part on its right hand; the first of a part is the outer
// one. `diagonal`: as there.
Outlines traceOutlines(const int32_t* labels, int32_t width, int32_t height, bool diagonal);

}  // namespace nt::vision
