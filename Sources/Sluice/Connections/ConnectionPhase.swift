internal import SluiceWire

/// Where a connection is that stores share.
///
///     phase        opened              greeting    joined       left by the last   ended
///     ------------------------------------------------------------------------------------
///     connecting   open, say hello     =           connecting   over               over
///     open         =                   greeted     open         over               over
///     greeted      =                   =           greeted      over               over
///     over         =                   =           refused      =                  =
///
/// `=` leaves the phase, and nothing happens. A store that leaves an attempt to connect before the last does has others
/// join another connection (`isOver` of ``SharedConnection``), while the phase stays.
enum ConnectionPhase: Hashable {
    case connecting
    /// The connection is open, and hello was sent at a time.
    case open(askedAt: Duration)
    /// The server has answered the hello.
    case greeted(ServerMessage.HelloReply, askedAt: Duration, answeredAt: Duration)
    /// It has ended, or everybody has left.
    case over

    /// Notes that the connection has opened.
    ///
    /// - Returns: whether to say hello, and to have the sessions of the members open.
    mutating func open(at time: Duration) -> Bool {
        guard case .connecting = self else { return false }
        self = .open(askedAt: time)
        return true
    }

    /// Notes the server's answer to the hello.
    mutating func greet(_ reply: ServerMessage.HelloReply, at time: Duration) {
        guard case .open(let askedAt) = self else { return }
        self = .greeted(reply, askedAt: askedAt, answeredAt: time)
    }

    /// Notes the end.
    ///
    /// - Returns: whether it was not over before.
    mutating func end() -> Bool {
        defer { self = .over }
        return self != .over
    }

    /// Whether frames can be sent.
    var isOpen: Bool {
        switch self {
        case .open, .greeted: true
        case .connecting, .over: false
        }
    }

    /// Whether the server's hello is still to come.
    var awaitsGreeting: Bool { if case .open = self { true } else { false } }

    /// How many stores may join, of which the server takes a session each; nil as long as it has not said.
    var sessionCountMax: Int? {
        if case .greeted(let reply, _, _) = self { Int(clamping: reply.limits.sessionCountMax) } else { nil }
    }

    /// The place of a session.
    ///
    /// - Parameter now: the time by the same clock.
    func place(of session: UInt64, now: Duration) -> ConnectionPlace {
        switch self {
        case .greeted(let reply, let askedAt, let answeredAt):
            ConnectionPlace(
                session: session, greeting: reply.after(now - answeredAt), wait: answeredAt - askedAt)
        case .open(let askedAt): ConnectionPlace(session: session, greeting: nil, wait: now - askedAt)
        case .connecting, .over: ConnectionPlace(session: session, greeting: nil, wait: .zero)
        }
    }
}

extension ServerMessage.HelloReply {
    /// The reply as the server would give it some time later.
    fileprivate func after(_ duration: Duration) -> Self {
        var later = self
        later.time = self.time.advanced(by: duration)
        return later
    }
}
