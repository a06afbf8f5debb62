import SluiceModel
import SluiceWire
import Testing

@testable import SluiceServer

/// What is left of a session in memory.
struct SessionMemoryTests {
    @Test(arguments: [true, false])
    func nothingIsLeftOfASessionThatHasEnded(byASchemaChange: Bool) throws {
        let herd = try Herd(planeCount: 30)
        try herd.join()
        let id = herd.readers[0].id
        weak let subscriber = herd.engine.subscriptions[id]
        weak let subscription = subscriber?.subscriptions[1]
        weak let view = subscription?.view
        #expect(view != nil)
        if byASchemaChange {
            try herd.engine.follow(.reshaped)
        } else {
            try herd.leave(0)
        }
        #expect(subscriber == nil && subscription == nil && view == nil)
    }
}
