//! Bugs that tests put in on purpose, to see that the simulator finds them.

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Planted {
    /// What is no longer ours is let go without asking anybody.
    DeleteBeforeConfirm,
    /// Machines on probation, and machines that were not filled yet, count.
    CountProbationers,
    /// After a restart holders are believed to have everything, as before.
    ForgetPushOnCrash,
    /// What comes over the network is stored without looking at its digest. (Carried out by those around the machine.)
    AcceptUnverified,
    /// Owners are not audited.
    TrustOwners,
}
