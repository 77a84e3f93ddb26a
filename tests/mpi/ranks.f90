! ranks.f90 - messages of a Fortran program; it says itself what it does, as ranks.c.
program ranks
  use mpi
  implicit none
  integer, parameter :: rounds = 5, words = 100
  integer :: me, all, right, left, i, failed, requests(2), statuses(MPI_STATUS_SIZE, 2), status(MPI_STATUS_SIZE)
  integer :: out(words), in(words), total
  double precision :: until
  character(len=200) :: line

  call MPI_Init(failed)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, failed)
  call MPI_Comm_size(MPI_COMM_WORLD, all, failed)
  right = mod(me + 1, all)
  left = mod(me + all - 1, all)
  out = me
  do i = 1, rounds
    call MPI_Barrier(MPI_COMM_WORLD, failed)
    if (me == 0) call compute()
    call MPI_Irecv(in, words, MPI_INTEGER, left, 7, MPI_COMM_WORLD, requests(1), failed)
    call MPI_Isend(out, words, MPI_INTEGER, right, 7, MPI_COMM_WORLD, requests(2), failed)
    call MPI_Waitall(2, requests, statuses, failed)
    if (any(in /= left)) stop 1
    if (mod(me, 2) == 0) then
      call MPI_Send(out, 10, MPI_INTEGER, right, 8, MPI_COMM_WORLD, failed)
      call MPI_Recv(in, words, MPI_INTEGER, left, 8, MPI_COMM_WORLD, status, failed)
    else
      call MPI_Recv(in, words, MPI_INTEGER, left, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE, failed)
      call MPI_Send(out, 10, MPI_INTEGER, right, 8, MPI_COMM_WORLD, failed)
    end if
    total = me
    call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, failed)
    if (total /= all * (all - 1) / 2) stop 2
    call MPI_Bcast(out, words, MPI_INTEGER, 0, MPI_COMM_WORLD, failed)
    out = me
  end do
  call MPI_Finalize(failed)

  write (line, '(a,i0,a,i0,a,i0,a,i0)') 'pair ', me, ' ', right, ' ', 2 * rounds, ' ', rounds * 4 * (words + 10)
  call say(line)
  write (line, '(a,i0,a)') 'all MPI_Barrier ', rounds, ' 0'
  call say(line)
  write (line, '(a,i0,a,i0)') 'all MPI_Allreduce ', rounds, ' ', rounds * 4
  call say(line)
  write (line, '(a,i0,a,i0)') 'all MPI_Bcast ', rounds, ' ', rounds * 4 * words
  call say(line)

contains

  subroutine say(text)
    character(len=*), intent(in) :: text
    write (*, '(a)') trim(text)
    flush (6)
  end subroutine

  subroutine compute()
    until = MPI_Wtime() + 0.02d0
    do while (MPI_Wtime() < until)
    end do
  end subroutine
end program
