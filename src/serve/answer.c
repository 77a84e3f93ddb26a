/* answer.c - tables as the JSON of an answer: views/json.h writes it, so that its rules hold here, too. */
#include "request.h"
#include "views/json.h"

int sonde__answer_json(const struct sonde_view_data *data, bool single, struct sonde_answer *out, struct sonde_problem *problem)
{
    const struct sonde_view shape = {.single = single};
    if (data->error && problem) {
        problem->internal = true;
        sonde_diag_set(&problem->diag, data->error, NULL, "cannot write the answer");
    }
    if (!data->error)
        sonde_view_json(&shape, data, &out->text);
    return data->error;
}
