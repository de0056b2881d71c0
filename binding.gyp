# For node-gyp, and so for prebuildify. What is compiled, and how, stands in native/build.json and scripts/units.mjs, which CMakeLists.txt reads too.
{
  'variables': {
    # The words of one list of native/build.json. 'require' finds it from the folder of this file, where gyp runs the command.
    'facts': "node -p \"require('./native/build.json')",
  },
  'targets': [
    {
      'target_name': 'node_tensorrt',
      'conditions': [
        ["OS!='linux'", {
          # TensorRT's binary interface is known for Linux only: elsewhere there is no addon, and the package says so when one is needed.
          'type': 'none',
        }, {
          'sources': ['<!@(node scripts/units.mjs build/units)'],
          'defines': ["<!@(<(facts).defines.join(' ')\")"],
          'cflags!': ['-Wno-unused-parameter', '-fno-omit-frame-pointer'],
          'cflags_cc!': ['-fno-exceptions', '-fno-rtti', '-std=gnu++17', '-std=gnu++20'],
          'cflags_cc': [
            "<!@(<(facts).cflags.join(' ')\")",
            '-iquote', '<(module_root_dir)',
            '-isystem', "<!@(node -p \"require('path').resolve(require('node-addon-api').include_dir)\")",
          ],
          'ldflags': [
            '-Wl,--version-script=<(module_root_dir)/native/exports.map',
            "<!@(<(facts).ldflags.concat(require('./native/build.json').release_ldflags).join(' ')\")",
          ],
          'libraries': ["<!@(<(facts).libraries.join(' ')\")"],
          'configurations': { 'Release': { 'defines': ['NDEBUG'] } },
        }],
      ],
    },
  ],
}
