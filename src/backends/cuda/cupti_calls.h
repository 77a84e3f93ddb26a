/* cupti_calls.h - what of CUPTI is used, for whoever opens it or stands between it and Sonde. */
#ifndef SONDE_CUPTI_CALLS_H
#define SONDE_CUPTI_CALLS_H

/* Everything that is called in CUPTI; none of it is linked. */
#define SONDE_CUPTI_MAP(X)            \
    X(cuptiGetVersion)                \
    X(cuptiGetResultString)           \
    X(cuptiGetCallbackName)           \
    X(cuptiSubscribe)                 \
    X(cuptiUnsubscribe)               \
    X(cuptiEnableCallback)            \
    X(cuptiEnableDomain)              \
    X(cuptiGetTimestamp)              \
    X(cuptiGetContextId)              \
    X(cuptiGetDeviceId)               \
    X(cuptiGetStreamIdEx)             \
    X(cuptiGetGraphNodeId)            \
    X(cuptiActivityEnable)            \
    X(cuptiActivityDisable)           \
    X(cuptiActivityRegisterCallbacks) \
    X(cuptiActivityGetNextRecord)     \
    X(cuptiActivityGetNumDroppedRecords) \
    X(cuptiActivityFlushAll)

#endif
