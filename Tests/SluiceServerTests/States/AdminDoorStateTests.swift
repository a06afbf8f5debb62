import Testing

@testable import SluiceServer

/// The table of the admin socket, which the header of `AdminDoor.State` shows.
struct AdminDoorStateTests {
    typealias State = AdminDoor.State<Int>

    static let states: [State] = [.absent(reason: "full"), .open(1), .stopped]

    private static func text(_ state: State) -> String {
        switch state {
        case .absent(let reason): "absent: \(reason)"
        case .open(let server): "open: \(server)"
        case .stopped: "stopped"
        }
    }

    @Test func `a socket that was made is listened at, unless the server has stopped`() {
        let outcomes = Self.states.map { state in
            var next = state
            return (next.open(2), Self.text(next))
        }
        #expect(outcomes.map(\.0) == [true, true, false])
        #expect(outcomes.map(\.1) == ["open: 2", "open: 2", "stopped"])
    }

    @Test func `what hinders the socket is worth saying once`() {
        let outcomes = Self.states.map { state in
            var next = state
            return (next.fail(because: "read-only"), next.fail(because: "read-only"), Self.text(next))
        }
        #expect(outcomes.map(\.0) == [true, true, false])
        #expect(outcomes.map(\.1) == [false, false, false])
        #expect(outcomes.map(\.2) == ["absent: read-only", "absent: read-only", "stopped"])
    }

    @Test func `stopping names who listened`() {
        let outcomes = Self.states.map { state in
            var next = state
            return (next.stop(), Self.text(next))
        }
        #expect(outcomes.map(\.0) == [nil, 1, nil])
        #expect(outcomes.map(\.1) == ["stopped", "stopped", "stopped"])
    }
}
