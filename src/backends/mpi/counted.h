/* counted.h - functions of MPI that have a count of elements, or several. mpi.c includes this twice: with the ints that they had first, and (MPI 4.0: MPI_Send_c) with
 * counts of 64 bits.
 *
 *     COUNT    int, or int64_t (MPI_Count; of places MPI_Aint: 64 bits in all libraries)
 *     NAME(x)  x, or x_c
 *     NARROW   what is called instead where the library has no x_c: x, if the counts are ints
 */
SEND(Send)
SEND(Bsend)
SEND(Ssend)
SEND(Rsend)
ISEND(Isend)
ISEND(Ibsend)
ISEND(Issend)
ISEND(Irsend)

NARROW(Recv, (void *to, COUNT count, mpi_handle type, int from, int tag, mpi_handle comm, void *status), (to, count, type, from, tag, comm, status), count)
WRAP_STATUS(NAME(Recv), (void *to, COUNT count, mpi_handle type, int from, int tag, mpi_handle comm, void *status),
            (to, count, type, from, tag, comm, status), received(&call, comm, 0, status, found_since(comm, status)))
NARROW(Sendrecv, (const void *send, COUNT send_count, mpi_handle send_type, int to, int send_tag, void *receive, COUNT count, mpi_handle type, int from, int tag, mpi_handle comm, void *status), (send, send_count, send_type, to, send_tag, receive, count, type, from, tag, comm, status), send_count | count)
WRAP_STATUS(NAME(Sendrecv),
            (const void *send, COUNT send_count, mpi_handle send_type, int to, int send_tag, void *receive, COUNT count, mpi_handle type, int from, int tag,
             mpi_handle comm, void *status),
            (send, send_count, send_type, to, send_tag, receive, count, type, from, tag, comm, status), {
                const struct sonde_message m = to_send(comm, to, send_tag, send_type, send_count);
                exchanged(&call, &m, comm, status);
            })
NARROW(Sendrecv_replace, (void *both, COUNT count, mpi_handle type, int to, int send_tag, int from, int tag, mpi_handle comm, void *status), (both, count, type, to, send_tag, from, tag, comm, status), count)
WRAP_STATUS(NAME(Sendrecv_replace),
            (void *both, COUNT count, mpi_handle type, int to, int send_tag, int from, int tag, mpi_handle comm, void *status),
            (both, count, type, to, send_tag, from, tag, comm, status), {
                const struct sonde_message m = to_send(comm, to, send_tag, type, count);
                exchanged(&call, &m, comm, status);
            })
NARROW(Irecv, (void *to, COUNT count, mpi_handle type, int from, int tag, mpi_handle comm, void *request), (to, count, type, from, tag, comm, request), count)
WRAP(NAME(Irecv), (void *to, COUNT count, mpi_handle type, int from, int tag, mpi_handle comm, void *request), (to, count, type, from, tag, comm, request),
     receive_begun(&call, request, comm, from, false))
NARROW(Recv_init, (void *to, COUNT count, mpi_handle type, int from, int tag, mpi_handle comm, void *request), (to, count, type, from, tag, comm, request), count)
WRAP(NAME(Recv_init), (void *to, COUNT count, mpi_handle type, int from, int tag, mpi_handle comm, void *request),
     (to, count, type, from, tag, comm, request),
     receive_begun(&call, request, comm, from, true))
SEND_INIT(Send_init)
SEND_INIT(Bsend_init)
SEND_INIT(Ssend_init)
SEND_INIT(Rsend_init)

NARROW(Mrecv, (void *to, COUNT count, mpi_handle type, void *message, void *status), (to, count, type, message, status), count)
DEFINE(NAME(Mrecv), (void *to, COUNT count, mpi_handle type, void *message, void *status), (to, count, type, message, status))
{
    int own[MPI_STATUS_BYTES / sizeof(int)];
    struct sonde_mpi_request r;
    NEXT(NAME(Mrecv), (void *, COUNT, mpi_handle, void *, void *), (to, count, type, message, status));
    const struct call call = {CALL_OF(NAME(Mrecv)), begin(caller)};
    const bool known = is_known() && sonde__mpi_request_take(sonde__mpi_handle_at(message, 0), &r);
    status = status_or(status, own);
    const int failed = next(to, count, type, message, status);
    if (known && !failed)
        received(&call, r.comm, r.message.comm, status, r.message.posted_ns);
    else
        tell(&call, NULL, 0);
    return failed;
}

NARROW(Imrecv, (void *to, COUNT count, mpi_handle type, void *message, void *request), (to, count, type, message, request), count)
DEFINE(NAME(Imrecv), (void *to, COUNT count, mpi_handle type, void *message, void *request), (to, count, type, message, request))
{
    struct sonde_mpi_request r;
    NEXT(NAME(Imrecv), (void *, COUNT, mpi_handle, void *, void *), (to, count, type, message, request));
    const struct call call = {CALL_OF(NAME(Imrecv)), begin(caller)};
    const bool known = is_known() && sonde__mpi_request_take(sonde__mpi_handle_at(message, 0), &r);
    const int failed = next(to, count, type, message, request);
    if (known && !failed)
        begun(&call, request, r);
    else
        tell(&call, NULL, 0);
    return failed;
}

COUNTED(Bcast, Ibcast, count, FROM_ROOT, root, sonde__mpi_bytes(type, count), P(void *buffer, COUNT count, mpi_handle type, int root, mpi_handle comm),
        P(buffer, count, type, root, comm))
COUNTED(Reduce, Ireduce, count, TO_ROOT, root, sonde__mpi_bytes(type, count),
        P(const void *from, void *to, COUNT count, mpi_handle type, mpi_handle op, int root, mpi_handle comm), P(from, to, count, type, op, root, comm))
COUNTED(Allreduce, Iallreduce, count, ALL_TO_ALL, -1, sonde__mpi_bytes(type, count),
        P(const void *from, void *to, COUNT count, mpi_handle type, mpi_handle op, mpi_handle comm), P(from, to, count, type, op, comm))
COUNTED(Scan, Iscan, count, PREFIX, -1, sonde__mpi_bytes(type, count),
        P(const void *from, void *to, COUNT count, mpi_handle type, mpi_handle op, mpi_handle comm), P(from, to, count, type, op, comm))
COUNTED(Exscan, Iexscan, count, PREFIX, -1, sonde__mpi_bytes(type, count),
        P(const void *from, void *to, COUNT count, mpi_handle type, mpi_handle op, mpi_handle comm), P(from, to, count, type, op, comm))
COUNTED(Reduce_scatter_block, Ireduce_scatter_block, count, ALL_TO_ALL, -1, members(comm) * sonde__mpi_bytes(type, count),
        P(const void *from, void *to, COUNT count, mpi_handle type, mpi_handle op, mpi_handle comm), P(from, to, count, type, op, comm))
COUNTED(Gather, Igather, count | to_count, TO_ROOT, root, given(from, count, type, to_count, to_type),
        P(const void *from, COUNT count, mpi_handle type, void *to, COUNT to_count, mpi_handle to_type, int root, mpi_handle comm),
        P(from, count, type, to, to_count, to_type, root, comm))
COUNTED(Scatter, Iscatter, count | to_count, FROM_ROOT, root, given(to, to_count, to_type, count, type),
        P(const void *from, COUNT count, mpi_handle type, void *to, COUNT to_count, mpi_handle to_type, int root, mpi_handle comm),
        P(from, count, type, to, to_count, to_type, root, comm))
COUNTED(Allgather, Iallgather, count | to_count, ALL_TO_ALL, -1, given(from, count, type, to_count, to_type),
        P(const void *from, COUNT count, mpi_handle type, void *to, COUNT to_count, mpi_handle to_type, mpi_handle comm),
        P(from, count, type, to, to_count, to_type, comm))
COUNTED(Alltoall, Ialltoall, count | to_count, ALL_TO_ALL, -1, members(comm) * given(from, count, type, to_count, to_type),
        P(const void *from, COUNT count, mpi_handle type, void *to, COUNT to_count, mpi_handle to_type, mpi_handle comm),
        P(from, count, type, to, to_count, to_type, comm))
