internal import SluiceWire

/// What a connection in the JSON form keeps of one of its subscriptions.
///
///     state         bootstrap's page   page of differences   completion
///     -----------------------------------------------------------------
///     fresh         loading (r)        =                     complete
///     loading       =                  =                     complete
///     complete      loading (r)        interrupted           =
///     interrupted   loading (r)        =                     complete
///
/// `=` leaves the state. With (r) the client is to forget what it has.
struct JSONSubscription: Hashable, Sendable {
    enum State: UInt8, Hashable, Sendable, CaseIterable {
        /// Nothing was sent yet.
        case fresh
        /// Pages name the results anew.
        case loading
        case complete
        /// What the client has is not certain, and is brought up to date or named anew.
        case interrupted
    }

    private(set) var state = State.fresh
    let audience: Audience

    init(audience: Audience) { self.audience = audience }

    /// Notes a page.
    ///
    /// - Returns: whether the client is to forget what it has, since pages name everything anew.
    mutating func note(_ page: ServerMessage.Complete.Kind) -> Bool {
        switch (page, state) {
        case (.bootstrap, .fresh), (.bootstrap, .complete), (.bootstrap, .interrupted):
            state = .loading
            return true
        case (.resumed, .complete): state = .interrupted
        case (.bootstrap, .loading), (.resumed, .fresh), (.resumed, .loading), (.resumed, .interrupted): break
        }
        return false
    }

    mutating func noteCompletion() { state = .complete }

    /// How changes are told.
    struct Audience: Hashable, Sendable {
        /// Whether the client also wants what the results link to.
        let showsLinks: Bool
        /// The query's text, where it may be one with AGGREGATE.
        let figures: String?

        /// - Parameter query: its text.
        init(_ query: String, showsLinks: Bool) {
            self.showsLinks = showsLinks
            figures = query.uppercased().contains("AGGREGATE") ? query : nil
        }
    }
}
