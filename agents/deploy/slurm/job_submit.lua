-- Slurm JobSubmitPlugins=lua: a job of the partition `train` has to carry the name of its run, or it is refused at once.
-- slurmctld holds its locks while this runs, so nothing is asked over the network here: the gate is asked in
-- prolog-slurmctld.sh, about the nodes that the job was given.
local PARTITION = "train"

function slurm_job_submit(job_desc, part_list, submit_uid)
    if job_desc.partition ~= PARTITION then
        return slurm.SUCCESS
    end
    local name = job_desc.name or ""
    if string.match(name, "^[a-z0-9][a-z0-9-]*$") then
        return slurm.SUCCESS
    end
    slurm.log_user("Name the run that this job is: sbatch --job-name llama-70b …; its page in Countersign shows the name.")
    return slurm.ERROR
end

function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
    return slurm.SUCCESS
end
