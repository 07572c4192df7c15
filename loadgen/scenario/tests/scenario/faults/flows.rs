//! Faults of the order of steps: their moments, flows, conditions and repetitions.

use super::{message, step};

faults! {
    unknown_moment: step("get = \"/\"\nwhen = \"begin\"");
    no_step_for_iterations: step("get = \"/\"\nwhen = \"start\"");
    weight_outside_iterations: message(
        "[[step]]\nget = \"/a\"\nwhen = \"start\"\nweight = 3\n\n[[step]]\nget = \"/b\"\n",
    );
    iteration_number_in_a_start: message(
        "[[step]]\nget = \"/{{ iteration }}\"\nwhen = \"start\"\n\n[[step]]\nget = \"/b\"\n",
    );
    starts_and_stops_out_of_order: message(
        "[[step]]\nname = \"bye\"\nget = \"/\"\nwhen = \"stop\"\n\n[[step]]\nget = \"/b\"\n\n\
         [[step]]\nname = \"hi\"\nget = \"/\"\nwhen = \"start\"\n",
    );

    faulty_steps_of_a_round: message(
        "[rows.people]\nfile = \"none.csv\"\n\n\
         [[step]]\nname = \"a\"\nget = \"/{{ user }}/{{ iteration }}/{{ order }}\"\nwhen = \"once\"\n\
         weight = 2\nrepeat = 2\ngroup = \"g\"\nthink_time = \"1s\"\nverify = false\ncounters = { n = \"/n\" }\n\n\
         [[step]]\nname = \"b\"\nwebsocket = \"/\"\nwhen = \"finally\"\n\n\
         [[step]]\nname = \"c\"\npost = \"/orders\"\ncapture = { order = { json = \"/id\" } }\n\n\
         [[step]]\nname = \"d\"\ndelete = \"/orders/{{ order }}\"\nwhen = \"finally\"\n",
    );
    steps_of_a_round_out_of_order_beside_flows: message(
        "[http]\nauth = { user = \"u{{ user }}\", password = \"secret\" }\n\n\
         [[step]]\nname = \"a\"\nget = \"/\"\nwhen = \"once\"\n\n\
         [[step]]\nname = \"b\"\nget = \"/\"\nwhen = \"finally\"\nauth = { user = \"root\", password = \"secret\" }\n\n\
         [[step]]\nname = \"c\"\nget = \"/\"\nwhen = \"stop\"\n\n\
         [[flow]]\nname = \"f\"\n\n[[flow.step]]\nname = \"d\"\nget = \"/\"\nwhen = \"once\"\n\n\
         [thresholds]\n\"a.p95\" = \"< 1s\"\n",
    );
    credentials_of_users_and_a_threshold_without_users: message(
        "[http]\nauth = { user = \"u{{ user }}\", password = \"secret\" }\n\n\
         [[step]]\nname = \"a\"\nget = \"/\"\nwhen = \"once\"\n\n[[step]]\nname = \"b\"\nget = \"/\"\n\n\
         [thresholds]\n\"a.p95\" = \"< 1s\"\n",
    );
    values_of_users_after_all_users: message(
        "[[step]]\nname = \"c\"\npost = \"/orders\"\ncapture = { order = { json = \"/id\" } }\n\n\
         [[step]]\nname = \"d\"\ndelete = \"/orders/{{ order }}\"\nwhen = \"finally\"\n",
    );

    flows_without_names_or_steps: message(
        "assign = \"users\"\n\n[[flow]]\nweight = 0\n\n[[flow]]\nname = \"iteration\"\nwieght = 1\n\n\
         [[flow.step]]\nget = \"/\"\nwhen = \"start\"\n",
    );
    steps_outside_flows: message(
        "[[step]]\nget = \"/a\"\n\n[[flow]]\nname = \"a\"\n\n[[flow.step]]\nget = \"/{{ later }}\"\n\n\
         [[flow.step]]\nget = \"/b\"\ncapture = { later = { json = \"/n\" } }\n",
    );
    flows_steps_and_groups_of_one_name: message(
        "[[flow]]\nname = \"a\"\n\n[[flow.step]]\nname = \"a\"\nget = \"/\"\n\n\
         [[flow]]\nname = \"b\"\n\n[[flow.step]]\nname = \"c\"\nget = \"/\"\ngroup = \"b\"\n\n\
         [thresholds]\n\"d.p95\" = \"< 1s\"\n\"b.unsent\" = \"<= 0\"\niteration = \"< 1s\"\n",
    );
    assign_without_flows: message("assign = \"user\"\n[[step]]\nget = \"/\"\n");
    faulty_conditions: message(
        "[[step]]\nname = \"a\"\nget = \"/\"\nwhen = { present = \"tokn\" }\n\
         capture = { token = { json = \"/t\", optional = 1 } }\n\n\
         [[step]]\nname = \"b\"\nget = \"/\"\nwhen = { present = \"token\", absent = \"token\" }\n\n\
         [[step]]\nname = \"c\"\nget = \"/\"\nwhen = {}\n\n\
         [[step]]\nname = \"d\"\nget = \"/\"\nwhen = { equal = { token = 1, tken = \"x\" } }\n",
    );
    faulty_repetitions: message(
        "[[step]]\nname = \"a\"\nget = \"/\"\nwhen = \"start\"\nrepeat = 2\n\n\
         [[step]]\nname = \"b\"\nget = \"/\"\nrepeat = 0\n\n\
         [[step]]\nname = \"c\"\nget = \"/\"\nrepeat = { min = 3, max = 2 }\n\n\
         [[step]]\nname = \"d\"\nget = \"/\"\nrepeat = { max = 2 }\n",
    );
}
