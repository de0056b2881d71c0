# Files as NumPy writes them, and what it reads of ours: make_numpy.py make FOLDER | make_numpy.py read FILE...
import json, sys, warnings
import numpy as np

def cases():
    for code in ['b1', 'i1', 'i2', 'i4', 'i8', 'u1', 'u2', 'u4', 'u8', 'f2', 'f4', 'f8']:
        for shape in [(), (5,), (2, 3), (2, 3, 4), (0, 3)]:
            numbers = np.arange(int(np.prod(shape))).reshape(shape) * (7 if code[0] != 'b' else 1) - (3 if code[0] in 'if' else 0)
            yield f"{code}-{'x'.join(map(str, shape)) or 'scalar'}", (numbers % 2 if code == 'b1' else numbers).astype(code)

def told(array):
    order = array.ravel(order='C')
    return { 'dtype': array.dtype.name, 'shape': list(array.shape), 'fortran': bool(array.flags.f_contiguous), 'hex': order.astype(order.dtype.newbyteorder('<')).tobytes().hex() }

if sys.argv[1] == 'make':
    folder, answers = sys.argv[2], {}
    def save(name, array, version=None):
        with open(f'{folder}/{name}.npy', 'wb') as file:
            np.lib.format.write_array(file, array, version=version)
        answers[name] = told(array)
    for name, array in cases():
        save(name, array)
        if array.ndim > 1: save(f'{name}-fortran', np.asfortranarray(array))
        if array.dtype.itemsize > 1: save(f'{name}-big', array.astype(array.dtype.newbyteorder('>')))
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        for version in [(1, 0), (2, 0), (3, 0)]: save(f'version{version[0]}', np.arange(6, dtype='f4').reshape(2, 3), version)
    some = { 'a': np.arange(6, dtype='f4').reshape(2, 3), '/model/b': np.asfortranarray(np.arange(6).reshape(2, 3)), 'größe': np.float16(1.5) }
    np.savez(f'{folder}/stored.npz', **some)
    np.savez_compressed(f'{folder}/deflated.npz', **some)
    answers['npz'] = { name: told(np.asarray(array)) for name, array in some.items() }
    np.save(f'{folder}/complex.npy', np.zeros(2, dtype='c8'))
    np.save(f'{folder}/text.npy', np.array(['ab']))
    np.save(f'{folder}/structured.npy', np.zeros(2, dtype=[('x', 'f4'), ('y', 'i4')]))
    np.save(f'{folder}/pickled.npy', np.array([{}], dtype=object), allow_pickle=True)
    print(json.dumps(answers))
else:
    answers = {}
    for path in sys.argv[2:]:
        found = np.load(path)
        answers[path] = { name: told(found[name]) for name in found.files } if path.endswith('.npz') else told(found)
    print(json.dumps(answers))
