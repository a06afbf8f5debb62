import SluiceBackend

/// What the airport's server lets clients write, and what becomes of writes that did not know of each other.
func addPolicies(to server: SyncServer) {
    server.onWrite(to: Departure.self) { write in
        guard let departure = write.new else { return .accept }
        if departure.delay > 48 * 60 { return .refuse("a delay of more than two days is a cancellation") }
        return departure.delay < 0 ? try write.amended { $0.delay = 0 } : .accept
    }

    server.resolveConflicts(of: Departure.self) { conflict in
        var departure = conflict.merged
        departure.delay = max(conflict.local.delay, conflict.remote.delay)
        return departure
    }
    server.resolveConflicts(of: Alert.self, by: .serverWins)
}
