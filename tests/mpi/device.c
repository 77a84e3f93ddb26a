/* device.c - preloaded beside Sonde: MPICH says that it sends by $DEVICE ("none": says nothing of it). All else of it stays, MPI_T's variables of the other
 * ways among it: they are all there, whichever it sends by. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int PMPI_Get_library_version(char *text, int *length)
{
    const char *device = getenv("DEVICE");
    *length = sprintf(text, strcmp(device, "none") ? "MPICH Version:\t4.0.2\nMPICH Device:\t%s\nMPICH configure: none\n" : "MPICH Version:\t4.0.2", device);
    return 0;
}
