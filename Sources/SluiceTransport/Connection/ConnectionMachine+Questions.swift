extension ConnectionMachine {
    var isEnded: Bool { if case .ended = state { true } else { false } }

    var isPaused: Bool { if case .paused = state { true } else { false } }

    /// Whether a request is being answered.
    var isAnswering: Bool { if case .answering = state { true } else { false } }

    /// Whether messages may be sent.
    var isOpen: Bool {
        switch state {
        case .open, .paused: true
        default: false
        }
    }

    /// Whether bytes may be written: not before the socket is connected and TLS negotiated.
    var mayWrite: Bool {
        switch state {
        case .connecting, .securing, .lingering, .ended: false
        case .upgrading, .receiving, .answering, .open, .paused, .closing, .finishing, .draining: true
        }
    }

    /// The time limit of the current state.
    var limit: Limit? {
        switch state {
        case .connecting, .securing, .upgrading, .receiving: .opening
        case .answering: .answering
        case .closing, .finishing: .closing
        case .draining, .lingering: .lingering
        case .open, .paused, .ended: nil
        }
    }
}
