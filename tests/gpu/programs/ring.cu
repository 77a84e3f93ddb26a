/* ring.cu - the example: what it sends from GPU to GPU follows from its first comment. */
#include "../../../examples/ring.cu"
