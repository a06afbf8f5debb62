import Testing

@testable import SluiceCLI

struct DatabaseStatesTests {
    @Test func statesAreThoseThatTheServerSays() throws {
        let answer = #"[{"name":"a","state":"damaged"},{"name":"b","state":"failed"},{"name":"c"}]"#
        let states = DatabaseStates(answer: .known(try DatabaseStates.parse(answer)))
        #expect(["a", "b", "other"].map(states.state) == ["damaged", "failed", "closed"])
        #expect(states.failedNames == ["b"])
        #expect(DatabaseStates(answer: .noServer).state(of: "a") == nil)
        #expect(DatabaseStates(answer: .unknown).state(of: "a") == "unknown")
        #expect(throws: CommandError.self) { try DatabaseStates.parse("{}") }
    }

    @Test func aDatabaseThatCannotBeReadIsALineOfItsState() {
        #expect(DatabasesAction.line("a", "failed", nil) == "a\tfailed")
        #expect(DatabasesAction.line("a", nil, nil) == "a\tnot served")
        #expect(DatabasesAction.json("a", "failed", nil) == #"{"name":"a","state":"failed"}"#)
    }
}
