/* llvm_calls.h - the functions of LLVM's C API that are used, and the numbers of its enumerations, which that API keeps (llvm-c/Core.h).
 *
 * All handles are pointers to something: `ref`.
 */
#ifndef SONDE_INSTRUMENT_LLVM_CALLS_H
#define SONDE_INSTRUMENT_LLVM_CALLS_H

#include <stddef.h>

typedef struct sonde_llvm_thing *ref;

enum {
    RET = 1,
    ALLOCA = 26,
    LOAD = 27,
    STORE = 28,
    GET_ELEMENT_POINTER = 29,
    BIT_CAST = 41,
    PHI = 44,
    CALL = 45,
    SELECT = 46,
    COMPARE_EXCHANGE = 56,
    READ_MODIFY_WRITE = 57,
    ADDRESS_SPACE_CAST = 60,
    FREEZE = 68,
};
enum { TYPE_VOID = 0,
       TYPE_HALF = 1,
       TYPE_FLOAT = 2,
       TYPE_DOUBLE = 3,
       TYPE_INTEGER = 8,
       TYPE_POINTER = 12,
       TYPE_VECTOR = 13 };
enum { IS_EQUAL = 32,
       IS_NOT_EQUAL = 33,
       IS_NOT_BELOW = 35, /* unsigned */
       IS_BELOW = 36,
       IS_MORE = 38,
       IS_LESS = 40 }; /* signed */
enum { MONOTONIC = 2,
       ACQUIRE = 4 };
enum { C_CONVENTION = 0,
       SPIR_CONVENTION = 75,
       KERNEL_CONVENTION = 76,
       EXTERNAL = 0,
       INTERNAL = 8,
       PRIVATE = 9,
       FUNCTION = -1,
       RETURN_STATUS = 2 };

#define LLVM_MAP(X)                                                                            \
    X(ref, ContextCreate, (void))                                                              \
    X(void, ContextDispose, (ref))                                                             \
    X(void, ContextSetDiagnosticHandler, (ref, void (*)(ref, void *), void *))                 \
    X(ref, CreateMemoryBufferWithMemoryRange, (const char *, size_t, const char *, int))       \
    X(ref, CreateMemoryBufferWithMemoryRangeCopy, (const char *, size_t, const char *))        \
    X(void, DisposeMemoryBuffer, (ref))                                                        \
    X(int, GetBitcodeModuleInContext2, (ref, ref, ref *))                                      \
    X(ref, ModuleCreateWithNameInContext, (const char *, ref))                                 \
    X(const char *, GetTarget, (ref))                                                          \
    X(void, SetTarget, (ref, const char *))                                                    \
    X(const char *, GetDataLayoutStr, (ref))                                                   \
    X(void, SetDataLayout, (ref, const char *))                                                \
    X(unsigned, GetDebugLocLine, (ref))                                                        \
    X(const char *, GetDebugLocFilename, (ref, unsigned *))                                    \
    X(int, ParseBitcodeInContext2, (ref, ref, ref *))                                          \
    X(int, ParseIRInContext, (ref, ref, ref *, char **))                                       \
    X(int, LinkModules2, (ref, ref))                                                           \
    X(void, DisposeModule, (ref))                                                              \
    X(int, StripModuleDebugInfo, (ref))                                                        \
    X(int, VerifyModule, (ref, int, char **))                                                  \
    X(void, DisposeMessage, (char *))                                                          \
    X(ref, WriteBitcodeToMemoryBuffer, (ref))                                                  \
    X(const char *, GetBufferStart, (ref))                                                     \
    X(size_t, GetBufferSize, (ref))                                                            \
    X(ref, CreatePassBuilderOptions, (void))                                                   \
    X(void, DisposePassBuilderOptions, (ref))                                                  \
    X(ref, RunPasses, (ref, const char *, ref, ref))                                           \
    X(void, ConsumeError, (ref))                                                               \
    X(ref, GetFirstGlobal, (ref))                                                              \
    X(ref, GetNextGlobal, (ref))                                                               \
    X(ref, GetNamedGlobal, (ref, const char *))                                                \
    X(int, IsGlobalConstant, (ref))                                                            \
    X(void, SetInitializer, (ref, ref))                                                        \
    X(void, GlobalClearMetadata, (ref))                                                        \
    X(ref, InsertBasicBlockInContext, (ref, ref, const char *))                                \
    X(void, InstructionRemoveFromParent, (ref))                                                \
    X(void, InsertIntoBuilder, (ref, ref))                                                     \
    X(ref, GetFirstFunction, (ref))                                                            \
    X(ref, GetNextFunction, (ref))                                                             \
    X(ref, GetNamedFunction, (ref, const char *))                                              \
    X(ref, AddFunction, (ref, const char *, ref))                                              \
    X(void, DeleteFunction, (ref))                                                             \
    X(int, IsDeclaration, (ref))                                                               \
    X(ref, GlobalGetValueType, (ref))                                                          \
    X(unsigned, GetFunctionCallConv, (ref))                                                    \
    X(void, SetFunctionCallConv, (ref, unsigned))                                              \
    X(int, GetLinkage, (ref))                                                                  \
    X(void, SetLinkage, (ref, int))                                                            \
    X(unsigned, CountParams, (ref))                                                            \
    X(ref, GetParam, (ref, unsigned))                                                          \
    X(ref, GetReturnType, (ref))                                                               \
    X(void, GetParamTypes, (ref, ref *))                                                       \
    X(ref, FunctionType, (ref, ref *, unsigned, int))                                          \
    X(ref, CreateEnumAttribute, (ref, unsigned, unsigned long long))                           \
    X(unsigned, GetEnumAttributeKindForName, (const char *, size_t))                           \
    X(unsigned, GetEnumAttributeKind, (ref))                                                   \
    X(int, IsEnumAttribute, (ref))                                                             \
    X(unsigned, GetAttributeCountAtIndex, (ref, unsigned))                                     \
    X(void, GetAttributesAtIndex, (ref, unsigned, ref *))                                      \
    X(void, AddAttributeAtIndex, (ref, unsigned, ref))                                         \
    X(void, RemoveEnumAttributeAtIndex, (ref, unsigned, unsigned))                             \
    X(void, RemoveCallSiteEnumAttribute, (ref, unsigned, unsigned))                            \
    X(ref, GlobalCopyAllMetadata, (ref, size_t *))                                             \
    X(void, DisposeValueMetadataEntries, (ref))                                                \
    X(unsigned, ValueMetadataEntriesGetKind, (ref, unsigned))                                  \
    X(ref, ValueMetadataEntriesGetMetadata, (ref, unsigned))                                   \
    X(void, GlobalSetMetadata, (ref, unsigned, ref))                                           \
    X(unsigned, GetMDKindIDInContext, (ref, const char *, unsigned))                           \
    X(ref, MetadataAsValue, (ref, ref))                                                        \
    X(ref, ValueAsMetadata, (ref))                                                             \
    X(unsigned, GetMDNodeNumOperands, (ref))                                                   \
    X(void, GetMDNodeOperands, (ref, ref *))                                                   \
    X(const char *, GetMDString, (ref, unsigned *))                                            \
    X(ref, MDStringInContext2, (ref, const char *, size_t))                                    \
    X(ref, MDNodeInContext2, (ref, ref *, size_t))                                             \
    X(ref, GetFirstBasicBlock, (ref))                                                          \
    X(ref, GetNextBasicBlock, (ref))                                                           \
    X(void, RemoveBasicBlockFromParent, (ref))                                                 \
    X(void, AppendExistingBasicBlock, (ref, ref))                                              \
    X(ref, AppendBasicBlockInContext, (ref, ref, const char *))                                \
    X(ref, GetBasicBlockTerminator, (ref))                                                     \
    X(unsigned, GetNumSuccessors, (ref))                                                       \
    X(ref, GetSuccessor, (ref, unsigned))                                                      \
    X(ref, GetFirstInstruction, (ref))                                                         \
    X(ref, GetNextInstruction, (ref))                                                          \
    X(void, InstructionEraseFromParent, (ref))                                                 \
    X(unsigned, GetInstructionOpcode, (ref))                                                   \
    X(ref, GetFirstUse, (ref))                                                                 \
    X(ref, GetOperand, (ref, unsigned))                                                        \
    X(unsigned, GetNumArgOperands, (ref))                                                      \
    X(ref, GetCalledValue, (ref))                                                              \
    X(unsigned, CountIncoming, (ref))                                                          \
    X(ref, GetIncomingValue, (ref, unsigned))                                                  \
    X(void, ReplaceAllUsesWith, (ref, ref))                                                    \
    X(const char *, GetValueName2, (ref, size_t *))                                            \
    X(void, SetValueName2, (ref, const char *, size_t))                                        \
    X(ref, IsAArgument, (ref))                                                                 \
    X(ref, IsAInstruction, (ref))                                                              \
    X(ref, IsAFunction, (ref))                                                                 \
    X(ref, IsAConstant, (ref))                                                                 \
    X(ref, TypeOf, (ref))                                                                      \
    X(int, GetTypeKind, (ref))                                                                 \
    X(int, PointerTypeIsOpaque, (ref))                                                         \
    X(unsigned, GetIntTypeWidth, (ref))                                                        \
    X(ref, GetElementType, (ref))                                                              \
    X(unsigned, GetVectorSize, (ref))                                                          \
    X(ref, VectorType, (ref, unsigned))                                                        \
    X(ref, IntTypeInContext, (ref, unsigned))                                                  \
    X(ref, PointerType, (ref, unsigned))                                                       \
    X(ref, ConstInt, (ref, unsigned long long, int))                                           \
    X(unsigned long long, ConstIntGetZExtValue, (ref))                                         \
    X(ref, CreateBuilderInContext, (ref))                                                      \
    X(void, DisposeBuilder, (ref))                                                             \
    X(void, PositionBuilderBefore, (ref, ref))                                                 \
    X(void, PositionBuilderAtEnd, (ref, ref))                                                  \
    X(ref, BuildAlloca, (ref, ref, const char *))                                              \
    X(ref, BuildLoad2, (ref, ref, ref, const char *))                                          \
    X(ref, BuildStore, (ref, ref, ref))                                                        \
    X(void, SetOrdering, (ref, int))                                                           \
    X(void, SetVolatile, (ref, int))                                                           \
    X(void, SetAlignment, (ref, unsigned))                                                     \
    X(unsigned, GetAlignment, (ref))                                                           \
    X(ref, BuildGEP2, (ref, ref, ref, ref *, unsigned, const char *))                          \
    X(ref, BuildExtractValue, (ref, ref, unsigned, const char *))                              \
    X(ref, BuildExtractElement, (ref, ref, ref, const char *))                                 \
    X(ref, BuildBitCast, (ref, ref, ref, const char *))                                        \
    X(ref, BuildFreeze, (ref, ref, const char *))                                              \
    X(ref, BuildPtrToInt, (ref, ref, ref, const char *))                                       \
    X(ref, BuildPointerCast, (ref, ref, ref, const char *))                                    \
    X(ref, BuildZExt, (ref, ref, ref, const char *))                                           \
    X(ref, BuildSExt, (ref, ref, ref, const char *))                                           \
    X(ref, BuildAnd, (ref, ref, ref, const char *))                                            \
    X(ref, BuildOr, (ref, ref, ref, const char *))                                             \
    X(ref, BuildXor, (ref, ref, ref, const char *))                                            \
    X(ref, BuildAShr, (ref, ref, ref, const char *))                                           \
    X(ref, BuildAdd, (ref, ref, ref, const char *))                                            \
    X(ref, BuildSub, (ref, ref, ref, const char *))                                            \
    X(ref, BuildMul, (ref, ref, ref, const char *))                                            \
    X(ref, BuildICmp, (ref, int, ref, ref, const char *))                                      \
    X(ref, BuildSelect, (ref, ref, ref, ref, const char *))                                    \
    X(ref, BuildCall2, (ref, ref, ref, ref *, unsigned, const char *))                         \
    X(void, SetInstructionCallConv, (ref, unsigned))                                           \
    X(ref, BuildBr, (ref, ref))                                                                \
    X(ref, BuildCondBr, (ref, ref, ref, ref))                                                  \
    X(ref, BuildRetVoid, (ref))

struct llvm {
#define X(type, name, parameters) type (*name) parameters;
    LLVM_MAP(X)
#undef X
};

#endif
