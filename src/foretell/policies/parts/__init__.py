"""What policies are built from: one idea a file, as kernels over NamedTuples of arrays.

Knowledge
    law                    signals seen, by action, over all rounds or a window of the latest
    theta                  rewards received, by signal or by action, never forgotten
    ordered_theta          theta where signals are listed weakest first, or their values declared
    open_rewards           decisions whose reward may still come, by signal and age
    delay_fit              how many of their rewards would have come by now: theta with silence
    reward_window          the W latest rewards that have arrived, in whatever order
    discounted_rewards     rewards that weigh less with age
    segments               signals and rewards of each stretch of an action under one law
    reward_queues          rewards that wait until a policy asks for them, by action
    prefix_grid            running totals of a stream at few, well-spaced earlier moments

Choice
    argmax                 the action of largest value, ties broken at random
    kl_argmax              the same for KL-UCB indices, without solving for every one
    forced_exploration     rounds in which every action is tried, whatever its index

Confidence
    radius                 the constants of the paper's radii, printed and tight
    optimism               the most optimistic law in an L1 ball: the paper's Algorithm 2
    bernoulli_kl           the divergence of two Bernoulli laws, and the bound that it gives
    beta_quantile          tails and quantiles of Beta laws
    kl_bounds              bounds that hold at all times at once, whatever the number of signals
    theta_bounds           such bounds of theta, and their order
    klmax                  the most optimistic law in a Kullback–Leibler ball

Change
    reward_change_test     has the mean of a stream of rewards changed? (GLR)
    signal_change_test     has the law of a stream of signals changed, and where?
    glr_restarts           signals since the last alarm of such a test: what `nsd-kl-glr` knows
    run_length             since when has the law been what it is? A filter over the answers

    moving_theta           since when has theta been what it is? The same filter on rewards

Misspecification
    misspecification_test  does the reward depend on the signal alone?
    residual               what the signals do not explain, by action and segment
"""
