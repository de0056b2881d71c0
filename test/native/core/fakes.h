// The fake driver and the fake TensorRT of this process: their controls, counters and plans.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace fakes {

// The folder with the family's libnvinfer, or with TensorRT-RTX.
void open(const std::string& folder);
const std::string& library();
bool isRtx();

void driver(const std::string& key, const std::string& value);
void tensorrt(const std::string& key, const std::string& value);
// Settings, rules and counters as at the start.
void reset();

using Counts = std::map<std::string, long long>;
// "streams", "deviceBytes", …
Counts driverCounts();
// "compiles": contexts for which was compiled what no runtime cache had; "withGraphs": those with TensorRT-RTX's own.
Counts jit();
// What is alive in TensorRT: "engines", "contexts" …
Counts liveObjects();
// What was done wrong: misuse by name, and "traps".
Counts misuse();
// Calls by function, "cuMemAlloc_v2", or by method, "VExecutionContext.enqueueV3".
Counts driverCalls();
Counts tensorrtCalls();

// A plan of the lines that test/fake/nvinfer/program.h describes, for the family that is loaded.
std::string plan(const std::string& lines);

}  // namespace fakes
