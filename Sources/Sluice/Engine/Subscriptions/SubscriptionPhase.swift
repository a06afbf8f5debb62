internal import SluiceStorage
internal import SluiceWire

/// Where a subscription is between its first request and its end.
///
/// Dormant is no state: the record of a subscription that nobody holds says it (``SubscriptionRecord/isDormant``), and
/// there is no ``Subscription`` then. Kept is a fact beside the states: ``Subscription/isKept``.
///
///                     request           page          page         completion    completion     list
///     state           resuming / anew   bootstrap     resumed      bootstrap     resumed        members      refusal
///     ---------------------------------------------------------------------------------------------------------------
///     unrequested     requested         –             –            –             –              –            –
///     requested
///       of nothing    –                 whole         –            complete (f)  –              –            failed (a)
///       else          –                 whole (s)     =            –             complete (c)   compared (t) failed (a)
///       stale         –                 whole (s)     =            –             = (r)          compared (t) failed (a)
///     staging whole   –                 =             –            complete (f)  –              –            failed (a)
///     compared        –                 whole (s)     =            –             complete (f)   –            failed (a)
///       stale         –                 whole (s)     =            –             = (r)          –            failed (a)
///     complete        –                 whole (s)     switching    –             = (c)          –            failed (a)
///     switching       –                 whole (s)     =            –             complete (c)   compared (t) failed (a)
///     failed          requested         –             –            –             –              –            –
///
///                     restart           left          member       context       server         connection
///     state                             behind        lost         changed       forgotten      lost         retry
///     ---------------------------------------------------------------------------------------------------------------
///     unrequested     –                 –             =            =             fewer          =            =
///     requested       members (a)       fewer         stale        stale         fewer          unrequested  =
///     staging whole   members (a)       –             =            =             members (a)    members (a)  =
///     compared        members (a)       –             stale        =             members (a)    members (a)  =
///     complete        members (a)       –             =            =             members        unrequested  =
///     switching       members (a)       –             =            =             members        members      =
///     failed          members (a)       –             =            =             =              =            members
///
/// `=` leaves the state, `–` is refused with an ``IllegalTransition``. *Members* is unrequested with ``Basis/members``,
/// *fewer* the same state with ``Basis/members`` in the place of ``Basis/complete``. The letters are effects on what is
/// stored: (a) ``Effect/abandon``, (s) ``Effect/stage``, (t) ``Effect/stageCopy``, (f) ``Effect/finish``, (c)
/// ``Effect/confirm``, (r) ``Effect/requestAnew``; switching rights and being left behind are ``Effect/demote``. A
/// request that may not resume is one of nothing, and stages that unless it is staged.
enum SubscriptionPhase: Hashable {
    /// The open session has not asked for it, or there is no session.
    case unrequested(Basis)
    /// The server was asked, and has neither sent a page of a bootstrap nor answered otherwise.
    ///
    /// - isStale: whether what the server was told of the membership is true no more: members were removed here since,
    ///   or the user reads in another context now. What the server sends because of it is not enough.
    case requested(Basis, isStale: Bool = false)
    /// Pages name every member. They are staged beside the membership of before.
    case stagingWhole
    /// Pages change a staged copy of the membership, which the server was told member by member.
    ///
    /// - isStale: as of ``requested(_:isStale:)``.
    case stagingCompared(isStale: Bool = false)
    /// The server has confirmed the membership in this session, and commits keep it so.
    case complete
    /// The server has interrupted a complete subscription: the membership is right no more, and the server asks for its
    /// members, or sends everything.
    case switching
    /// The server does not serve it.
    case failed(SyncError)

    /// What this store has before the server answers.
    enum Basis: Hashable, CaseIterable {
        /// An empty membership, which is staged beside the one of before.
        case nothing
        /// Members, which need not be those of any version.
        case members
        /// The members of the version that the record names.
        case complete
    }

    /// Something that happens to a subscription.
    enum Event: Hashable {
        // The server causes these.
        case page(ServerMessage.Complete.Kind)
        case completion(ServerMessage.Complete.Kind)
        case memberList
        case refusal(SyncError)
        // These come from this store.
        /// The session asks for it.
        ///
        /// - canResume: whether the server may continue from what is here.
        /// - isWhole: whether the members are those of their version (``SubscriptionRecord/hasHoles``).
        case request(canResume: Bool, isWhole: Bool)
        /// Everything is to be requested again.
        case restart
        /// The first content of the session has resumed others and not this one.
        case leftBehind
        /// A member was removed here.
        case memberLoss
        /// The user reads in another context, to which the server has not brought it.
        case contextChange
        /// What is here is nothing to continue from.
        case serverForgotten
        case connectionLoss
        /// Syncing begins again after an error.
        case retry
    }

    /// What a transition asks of the stored membership.
    enum Effect: Hashable {
        case none
        /// Stages an empty membership, instead of what is staged.
        case stage
        /// Stages a copy of the membership, instead of what is staged.
        case stageCopy
        /// Adds what is staged to the membership.
        case abandon
        /// Makes what is staged the membership.
        case finish
        /// The membership is right, as far as its members are here.
        case confirm
        /// The membership is right no more.
        case demote
        /// The server has relied on members that are not here: everything has to be requested again.
        case requestAnew
    }

    /// An event that cannot happen in a state.
    struct IllegalTransition: Error, Hashable {
        let phase: SubscriptionPhase
        let event: Event

        var message: String { "a subscription that is \(phase.name) cannot have \(event.name)" }
    }

    /// The state after an event, and what the transition asks of the stored membership.
    ///
    /// - Throws: ``IllegalTransition``, which names the state and the event.
    func after(_ event: Event) throws(IllegalTransition) -> (phase: SubscriptionPhase, effect: Effect) {
        switch (self, event) {
        // What the server sends.
        case (.requested(.nothing, _), .page(.bootstrap)): (.stagingWhole, .none)
        case (.requested, .page(.bootstrap)), (.stagingCompared, .page(.bootstrap)), (.complete, .page(.bootstrap)),
            (.switching, .page(.bootstrap)):
            (.stagingWhole, .stage)
        case (.stagingWhole, .page(.bootstrap)): (self, .none)
        case (.complete, .page(.resumed)): (.switching, .demote)
        case (.requested(.members, _), .page(.resumed)), (.requested(.complete, _), .page(.resumed)),
            (.stagingCompared, .page(.resumed)), (.switching, .page(.resumed)):
            (self, .none)
        case (.requested(.nothing, _), .completion(.bootstrap)), (.stagingWhole, .completion(.bootstrap)):
            (.complete, .finish)
        case (.requested(.members, true), .completion(.resumed)), (.requested(.complete, true), .completion(.resumed)),
            (.stagingCompared(true), .completion(.resumed)):
            (self, .requestAnew)
        case (.stagingCompared(false), .completion(.resumed)): (.complete, .finish)
        case (.requested(.members, false), .completion(.resumed)),
            (.requested(.complete, false), .completion(.resumed)), (.complete, .completion(.resumed)),
            (.switching, .completion(.resumed)):
            (.complete, .confirm)
        case (.requested(.members, _), .memberList), (.requested(.complete, _), .memberList),
            (.switching, .memberList):
            (.stagingCompared(), .stageCopy)
        case (.requested, .refusal(let error)), (.stagingWhole, .refusal(let error)),
            (.stagingCompared, .refusal(let error)), (.complete, .refusal(let error)),
            (.switching, .refusal(let error)):
            (.failed(error), .abandon)

        // What this store does.
        case (.unrequested(.nothing), .request(false, _)): (.requested(.nothing), .none)
        case (.unrequested, .request(false, _)), (.failed, .request(false, _)): (.requested(.nothing), .stage)
        case (.unrequested(.complete), .request(true, false)): (.requested(.members), .demote)
        case (.unrequested(let basis), .request(true, _)): (.requested(basis), .none)
        case (.failed, .request(true, _)): (.requested(.members), .none)
        case (.requested, .restart), (.stagingWhole, .restart), (.stagingCompared, .restart), (.complete, .restart),
            (.switching, .restart), (.failed, .restart):
            (.unrequested(.members), .abandon)
        case (.requested(let basis, let isStale), .leftBehind):
            (.requested(basis == .complete ? .members : basis, isStale: isStale), .demote)
        case (.requested(let basis, _), .memberLoss), (.requested(let basis, _), .contextChange):
            (.requested(basis, isStale: true), .none)
        case (.stagingCompared, .memberLoss): (.stagingCompared(isStale: true), .none)
        case (_, .memberLoss), (_, .contextChange): (self, .none)

        case (.unrequested(let basis), .serverForgotten):
            (.unrequested(basis == .complete ? .members : basis), .none)
        case (.requested(let basis, let isStale), .serverForgotten):
            (.requested(basis == .complete ? .members : basis, isStale: isStale), .none)
        case (.stagingWhole, .serverForgotten), (.stagingCompared, .serverForgotten):
            (.unrequested(.members), .abandon)
        case (.complete, .serverForgotten), (.switching, .serverForgotten): (.unrequested(.members), .none)
        case (.failed, .serverForgotten): (self, .none)

        case (.requested(let basis, _), .connectionLoss): (.unrequested(basis), .none)
        case (.stagingWhole, .connectionLoss), (.stagingCompared, .connectionLoss): (.unrequested(.members), .abandon)
        case (.complete, .connectionLoss): (.unrequested(.complete), .none)
        case (.switching, .connectionLoss): (.unrequested(.members), .none)
        case (.unrequested, .connectionLoss), (.failed, .connectionLoss): (self, .none)

        case (.failed, .retry): (.unrequested(.members), .none)
        case (_, .retry): (self, .none)

        default: throw IllegalTransition(phase: self, event: event)
        }
    }
}

extension SubscriptionPhase {
    /// The state as it is stored.
    var stored: SubscriptionRecord.State {
        switch self {
        case .unrequested(.complete), .requested(.complete, _), .complete: .complete
        case .unrequested, .requested, .switching: .pending
        case .stagingWhole, .stagingCompared: .bootstrapping
        case .failed: .failed
        }
    }

    /// A state that is stored in a way. It holds until the session ends, which is at once.
    init(_ stored: SubscriptionRecord.State) {
        self =
            switch stored {
            case .pending, .failed: .unrequested(.members)
            case .bootstrapping: .stagingWhole
            case .complete: .unrequested(.complete)
            }
    }

    /// Whether a membership is staged beside that of before.
    var isStaging: Bool {
        switch self {
        case .unrequested(.nothing), .requested(.nothing, _), .stagingWhole, .stagingCompared: true
        case .unrequested, .requested, .complete, .switching, .failed: false
        }
    }

    fileprivate var name: String {
        switch self {
        case .unrequested: "not requested"
        case .requested(.nothing, _): "requested anew"
        case .requested: "requested to resume"
        case .stagingWhole: "sent whole"
        case .stagingCompared: "compared"
        case .complete: "complete"
        case .switching: "brought to another context"
        case .failed: "refused"
        }
    }
}

extension SubscriptionPhase.Event {
    fileprivate var name: String {
        switch self {
        case .page(.bootstrap): "a page of a bootstrap"
        case .page(.resumed): "a page of differences"
        case .completion(.bootstrap): "the end of a bootstrap"
        case .completion(.resumed): "the end of differences"
        case .memberList: "a request for its members"
        case .refusal: "a refusal"
        case .request: "a request"
        case .restart: "a request anew"
        case .leftBehind: "a catch-up without it"
        case .memberLoss: "a lost member"
        case .contextChange: "another context"
        case .serverForgotten: "a reset"
        case .connectionLoss: "a lost connection"
        case .retry: "another try"
        }
    }
}
