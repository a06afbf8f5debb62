/// What a connection in the JSON form keeps of one of its subscriptions.
struct JSONSubscription: Hashable, Sendable {
    /// | state | event | next |
    /// |---|---|---|
    /// | fresh | a page | loading |
    /// | fresh, loading | complete | complete |
    /// | complete | an empty page that interrupts it | interrupted |
    /// | complete, interrupted | a page that names everything anew | loading |
    /// | interrupted | complete | complete |
    enum State: UInt8, Hashable, Sendable {
        /// Nothing was sent yet.
        case fresh
        /// Pages name the results anew.
        case loading
        case complete
        /// What the client has is not certain, and is brought up to date or named anew.
        case interrupted
    }

    var state = State.fresh
    let audience: Audience

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
